// What a collective reads and writes is ordered with all else that uses the same memory, by events alone: vector clocks
// over the calls that the engine makes (Mattern 1989, "Virtual time and global states of distributed systems").
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

constexpr std::size_t ranks = 4, compute = 0, collectives = 2, nobody = ~std::size_t{0};

/// A device that notes for each piece of work what must have ended before it begins, and counts pairs that use the same
/// memory in no order. What kernels use is not known here, but all memory lives and dies, and products read weights.
class Clocked : public emulated::Runtime {
  using Base = emulated::Runtime;

 public:
  static inline std::atomic<std::size_t> unordered = 0, pairs = 0;
  /// This stream's waits, or its records, are left out.
  static inline std::size_t does_not_wait = nobody, does_not_record = nobody;

  void record(Event event, Stream stream) {
    if (stream.index != does_not_record) at(recorded_, event.index) = at(now_, stream.index);
    Base::record(event, stream);
  }
  void wait(Stream stream, Event event) {
    if (stream.index != does_not_wait) {
      Clock& clock = at(now_, stream.index);
      const Clock& other = at(recorded_, event.index);
      for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = (std::max)(clock[i], other[i]);
    }
    Base::wait(stream, event);
  }
  void collect(Connection& connection, const cuda::Collective& collective, const std::byte* own, std::byte* all,
               Stream stream) {
    note(all, collective.bytes * connection.size(), stream, true);
    note(own, collective.bytes, stream, true);
    Base::collect(connection, collective, own, all, stream);
  }
  void forget(std::byte* from, std::size_t bytes, Stream stream) {
    note(from, bytes, stream, false);
    Base::forget(from, bytes, stream);
  }
  void remember(std::byte* from, std::size_t bytes, Stream stream) {
    note(from, bytes, stream, false);
    Base::remember(from, bytes, stream);
  }
  void upload(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    note(to, bytes, stream, false);
    Base::upload(to, from, bytes, stream);
  }
  void download(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    note(from, bytes, stream, false);
    Base::download(to, from, bytes, stream);
  }
  void multiply(const Product& product, const cuda::ProductTensors& tensors, double beta, std::byte* scratch,
                Stream stream) {
    note(tensors.a, 1, stream, false);
    note(tensors.b, 1, stream, false);
    note(tensors.d, 1, stream, false);
    Base::multiply(product, tensors, beta, scratch, stream);
  }

 private:
  using Clock = std::array<std::uint64_t, 8>;  // by streams
  struct Use {
    const std::byte *begin, *end;
    std::size_t stream;
    std::uint64_t number;  // of the work on its stream
    bool is_collective;
  };

  static Clock& at(std::vector<Clock>& clocks, std::size_t index) {
    if (clocks.size() <= index) clocks.resize(index + 1);
    return clocks[index];
  }
  /// Work that was queued before and uses the same memory must have ended.
  void note(const std::byte* begin, std::size_t bytes, Stream stream, bool is_collective) {
    Clock& clock = at(now_, stream.index);
    ++clock[stream.index];
    for (const Use& use : uses_) {
      if (use.is_collective == is_collective || use.end <= begin || begin + bytes <= use.begin) continue;
      ++pairs;
      if (clock[use.stream] < use.number) ++unordered;
    }
    uses_.push_back({begin, begin + bytes, stream.index, clock[stream.index], is_collective});
  }

  std::vector<Clock> now_, recorded_;
  std::vector<Use> uses_;
};

/// Three steps, the last of which is short, and an evaluation; under ranks that take memory and give it back all the
/// time.
template <class... Policies>
std::size_t unordered_pairs() {
  Clocked::unordered = Clocked::pairs = 0;
  emulated::Runtime::defaults = {.seed = 0, .memory = std::size_t{64} << 20};
  (void)::test::error_of([] {
    launch(ranks, [](comm::Threads& threads) {
      Trainer<Gpt<3>, Batch<2>, Communicator<Nccl>, Device<OnRuntime<Clocked>>, Policies...> trainer(threads);
      trainer.poison_dead_memory();
      trainer.fit(fake_data(), {.steps = 3, .progress = false});
      (void)trainer.evaluate(fake_data());
    });
  });
  emulated::Runtime::defaults = {};
  CHECK(Clocked::pairs > 100);
  return Clocked::unordered;
}

}  // namespace

TEST_CASE("collectives are ordered with all that uses their memory") {
  CHECK(unordered_pairs<Shard<ZeRO3>>() == 0);
  CHECK(unordered_pairs<Shard<ZeRO3>, Graph<Off>>() == 0);
  CHECK(unordered_pairs<Shard<ZeRO3, Prefetch<0>>>() == 0);
  CHECK(unordered_pairs<Shard<ZeRO3, KeepSegments>, Checkpoint<Every<2>>>() == 0);
  CHECK(unordered_pairs<Shard<Hybrid<2>>, Accumulate<2>>() == 0);
  CHECK(unordered_pairs<Shard<Replicated, Bucket<4096>>>() == 0);
}

TEST_CASE("an order that is missing is seen") {
  for (const std::size_t stream : {compute, collectives}) {
    CAPTURE(stream);
    Clocked::does_not_wait = stream;
    CHECK(unordered_pairs<Shard<ZeRO3>>() > 0);
    Clocked::does_not_wait = nobody;
    Clocked::does_not_record = stream;
    CHECK(unordered_pairs<Shard<ZeRO3>>() > 0);
    Clocked::does_not_record = nobody;
  }
}
