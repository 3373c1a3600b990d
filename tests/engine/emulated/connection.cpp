// The emulated library that connects GPUs: the collectives are those of every communicator, and what NCCL's
// documentation forbids is an error.
#include <regimen/comm/launch.hpp>
#include <regimen/comm/ranks_of.hpp>
#include <regimen/engine/cuda/transport.hpp>
#include <regimen/engine/emulated/runtime.hpp>

#include "comm/conformance.hpp"
#include "support/catch.hpp"
#include "temporary.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

using namespace regimen;
using emulated::Runtime;
using std::chrono::milliseconds;

namespace {

/// A rank's device as a communicator: tensors go there and back.
class Grouped final {
  using By = cuda::RanksOfGpus<Runtime>;

 public:
  explicit Grouped(comm::Control& hosts) : hosts_(hosts), by_(runtime_, &hosts) {
    device_ = runtime_.allocate(room, "tensors");
    pinned_ = runtime_.allocate_pinned(room, "tensors");
  }
  Grouped(const Grouped&) = delete;
  Grouped& operator=(const Grouped&) = delete;
  ~Grouped() { by_.close(stream_); }

  std::size_t rank() const { return hosts_.rank(); }
  std::size_t size() const { return hosts_.size(); }
  static constexpr std::size_t staging_bytes(std::size_t, std::size_t) { return 0; }
  void all_gather(const std::byte* own, std::byte* all, std::size_t bytes, comm::Teams teams = {}) {
    gather(comm::CollectiveKind::AllGather, own, all, bytes, teams);
  }
  void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) {
    gather(comm::CollectiveKind::AllGatherSmall, own, all, bytes, {});
  }
  template <Number T>
  void reduce_scatter(const T* all, T* own, std::size_t count, std::byte*, comm::Teams teams = {}) {
    const std::size_t bytes = count * sizeof(T), members = teams.members(size());
    put(all, bytes * members);
    constexpr ElementType element = element_type_of<T>;
    run(comm::CollectiveKind::ReduceScatter,
        {.own = 0, .all = 0, .bytes = bytes, .element = element, .teams = teams, .path = {}});
    if (bytes > 0) std::memcpy(static_cast<void*>(own), get(teams.place(rank()) * bytes, bytes), bytes);
  }
  void barrier() { comm::barrier(&hosts_); }
  void leave(std::string_view reason) { hosts_.leave(reason); }

 private:
  static constexpr std::size_t room = std::size_t{32} << 20;

  void gather(comm::CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes, comm::Teams teams) {
    const std::size_t place = teams.place(rank()) * bytes, members = teams.members(size());
    const bool in_place = own == all + place;
    put(own, bytes, in_place ? place : room / 2);
    run(kind, {.own = in_place ? place : room / 2, .all = 0, .bytes = bytes, .teams = teams, .path = {}});
    if (bytes > 0) std::memcpy(all, get(0, bytes * members), bytes * members);
  }
  void run(comm::CollectiveKind kind, const engines::Transfer& transfer) {
    by_.prepare(transfer);
    by_.queue(kind, transfer, device_, stream_);
  }
  void put(const void* from, std::size_t bytes, std::size_t at = 0) {
    if (bytes > 0) std::memcpy(pinned_, from, bytes);
    runtime_.upload(device_ + at, pinned_, bytes, stream_);
    wait();
  }
  const std::byte* get(std::size_t at, std::size_t bytes) {
    runtime_.download(pinned_, device_ + at, bytes, stream_);
    wait();
    return pinned_;
  }
  void wait() {
    runtime_.record(event_, stream_);
    by_.synchronize(event_);
  }

  comm::Control& hosts_;
  Runtime runtime_;
  Runtime::Stream stream_ = runtime_.make_stream();
  Runtime::Event event_ = runtime_.make_event();
  By by_;
  std::byte *device_ = nullptr, *pinned_ = nullptr;
};
static_assert(comm::Collectives<Grouped>);

/// Two ranks that are connected, each with a kilobyte on its device.
struct Pair {
  Runtime runtime{Runtime::defaults};
  Runtime::Stream stream = runtime.make_stream();
  Runtime::Event event = runtime.make_event();
  std::byte* memory = runtime.allocate(1024, "memory");
  Runtime::Connection connection;

  Pair(const Runtime::Id& id, std::size_t rank, std::size_t size = 2) : connection(runtime.connect(id, rank, size)) {}
  void settle() {
    while (!runtime.is_ready(connection)) {}
  }
  void gather(std::size_t own) {
    runtime.collect(connection, {.kind = comm::CollectiveKind::AllGather, .bytes = 64}, memory + own, memory, stream);
    settle();
  }
  void wait() {
    runtime.record(event, stream);
    runtime.synchronize(event);
  }
};

/// What rank 1 of a pair says to body(pair, rank); rank 0's part is the same body.
std::string error_of_pair(const auto& body) {
  const Runtime::Id id = Runtime::make_id();
  std::string errors[2];
  launch(2, [&](comm::Threads& ranks) {
    errors[ranks.rank()] = ::test::error_of([&] {
      Pair pair(id, ranks.rank());
      ranks.barrier();
      body(pair, ranks.rank());
    });
  });
  return errors[1];
}

}  // namespace

TEST_CASE("collectives of emulated devices are those of every communicator, whatever the order of the work") {
  for (const std::size_t ranks : {1u, 2u, 3u, 4u})
    for (std::uint64_t seed = ranks; seed < ranks + 2; ++seed) {
      CAPTURE(ranks, seed);
      Runtime::defaults = {.seed = seed};
      launch(ranks, [&](comm::Threads& threads) {
        comm::RanksOf<comm::Threads> hosts(threads);
        Grouped grouped(hosts);
        conformance::conform(grouped, 20, 777);
      });
    }
  Runtime::defaults = {};
}

TEST_CASE("what the library forbids is an error") {
  Runtime::defaults = {.seed = 2};
  CHECK(error_of_pair([](Pair& pair, std::size_t rank) {
          pair.settle();
          pair.gather(rank * 64);
          pair.wait();
        }) == "");
  CHECK(::test::says(error_of_pair([](Pair& pair, std::size_t rank) {
                       if (rank == 0) return pair.settle();
                       pair.gather(rank * 64);
                     }),
                     "a call after the last one has returned"));
  CHECK(::test::says(error_of_pair([](Pair& pair, std::size_t rank) {
                       pair.settle();
                       pair.gather(rank * 64 + (rank == 1 ? 16 : 0));
                     }),
                     "this rank's slice in its place"));
  CHECK(::test::says(error_of_pair([](Pair& pair, std::size_t rank) {
                       pair.settle();
                       pair.gather(rank == 1 ? 1000 : 0);
                     }),
                     "64 bytes of one allocation"));
  CHECK(::test::says(error_of_pair([](Pair& pair, std::size_t rank) {
                       pair.settle();
                       if (rank == 1) pair.runtime.abort(pair.connection);
                       pair.gather(rank * 64);
                     }),
                     "a communicator that was not aborted"));
  CHECK(::test::says(error_of_pair([](Pair& pair, std::size_t rank) {
                       pair.settle();
                       pair.runtime.begin_capture(pair.stream);
                       if (rank == 1) (void)pair.runtime.connect(Runtime::make_id(), 0, 1);
                     }),
                     "ncclCommInitRankConfig"));
  CHECK(::test::says(::test::error_of([] {
                       const Runtime::Id id = Runtime::make_id();
                       Pair first(id, 0), second(id, 1, 3);
                     }),
                     "as many ranks as the others say"));
  Runtime::defaults = {};
}

TEST_CASE("ranks in different collectives, or without one of them, have NaN and an asynchronous error") {
  Runtime::defaults = {.seed = 2, .patience = milliseconds(300)};
  CHECK(::test::says(
      error_of_pair([](Pair& pair, std::size_t rank) {
        pair.settle();
        const auto kind = rank == 0 ? comm::CollectiveKind::AllGather : comm::CollectiveKind::ReduceScatter;
        pair.runtime.collect(pair.connection, {.kind = kind, .bytes = 64}, pair.memory + rank * 64, pair.memory,
                             pair.stream);
        pair.wait();
        pair.settle();
      }),
      "ncclRemoteError: rank 1 of 2, reduce_scatter number 0 (64 bytes, elements of 4): expected all ranks "
      "to take part, found rank 0 in all_gather"));
  const auto missing = error_of_pair([](Pair& pair, std::size_t rank) {
    pair.settle();
    if (rank == 0) std::this_thread::sleep_for(milliseconds(600));
    pair.gather(rank * 64);
    std::byte* const host = pair.runtime.allocate_pinned(1024, "host");
    pair.runtime.download(host, pair.memory, 128, pair.stream);
    pair.wait();
    for (std::size_t i = 0; i < 128; ++i)
      if (host[i] != std::byte{0xFF}) throw std::logic_error("it has results");
    pair.settle();
  });
  INFO(missing);
  CHECK(::test::says(missing, "no sign of rank 0 within 300 ms"));
  Runtime::defaults = {};
}
