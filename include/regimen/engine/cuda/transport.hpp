// regimen/engine/cuda/transport.hpp — the collectives of ranks on devices: on a stream of their own.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/comm/control.hpp>
#include <regimen/comm/host.hpp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/kernel/sum_of_ranks.hpp>
#include <regimen/policy/communicator.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::cuda {

/// A single rank.
template <Runtime R>
class NoRanks {
 public:
  using Ranks = comm::Control;
  static constexpr bool has_graphs = true;
  NoRanks(R& runtime, Ranks*) : runtime_(runtime) {}
  bool are_alone() const { return true; }
  void prepare(const engine::Transfer&) {}
  void queue(comm::CollectiveKind, const engine::Transfer&, std::byte*, typename R::Stream) {}
  void synchronize(typename R::Event event) { runtime_.synchronize(event); }
  void abort() {}
  void close(typename R::Stream) {}

 private:
  R& runtime_;
};

/// Ranks that are threads and share one device: their streams read each other's memory. The hosts meet twice in each
/// collective and tell each other what to wait for, so that streams only wait for what is queued already, and nothing
/// on the device ever waits for a host. But a graph that waits for another rank's cannot be captured.
///
/// sums      in the tree of comm/tree.hpp: the bits do not depend on the Shard
/// failure   PeerError with the rank that left, or that was missing when the deadline of the hosts had passed
/// cost      each slice is read once by each rank that needs it; the hosts wait for each other twice
template <Runtime R>
class RanksOfThreads {
 public:
  using Ranks = comm::Control;
  static constexpr bool has_graphs = false;
  RanksOfThreads(R& runtime, Ranks* ranks) : runtime_(runtime), ranks_(ranks) {
    if (are_alone()) return;
    if (ranks->size() > kernel::most_ranks_of_device)
      throw Error("ranks that share a GPU", "at most " + std::to_string(kernel::most_ranks_of_device),
                  std::to_string(ranks->size()));
    comm::agree(ranks, "ranks that are threads", "GPU", runtime.device());
    given_ = runtime.make_lasting_event();
    taken_ = runtime.make_lasting_event();
  }

  /// An emulated device has to know that it is shared.
  static void take_device(Ranks& ranks) {
    if constexpr (requires { R::new_device(); }) R::share_device(comm::gather_small(ranks, R::new_device())[0]);
  }

  bool are_alone() const { return ranks_ == nullptr; }
  void prepare(const engine::Transfer&) {}
  void queue(comm::CollectiveKind kind, const engine::Transfer& transfer, std::byte* base, typename R::Stream stream) {
    const bool sums = kind == comm::CollectiveKind::ReduceScatter;
    const comm::Teams teams = transfer.teams;
    const std::size_t rank = ranks_->rank(), members = teams.members(ranks_->size());
    runtime_.record(given_, stream);
    const std::vector<Given> given =
        show({base + (sums ? transfer.all : transfer.own), transfer.bytes, kind, given_, &readers_}, members - 1);
    std::optional<Reading> reading(std::in_place, given, teams, rank, members);
    const auto of = [&](std::size_t place) { return given[teams.member(rank, place)]; };
    for (std::size_t place = 0; place < members; ++place) {
      if (of(place).kind != kind || of(place).bytes != transfer.bytes)
        throw Error("a collective of ranks that are threads", "the same one on all ranks",
                    "another one on rank " + std::to_string(teams.member(rank, place)),
                    "call the Trainer's members on all ranks, in the same order");
      if (teams.member(rank, place) != rank) runtime_.wait(stream, of(place).event);
    }
    std::byte* const all = base + transfer.all;
    if (sums) {
      sum(transfer, all + teams.place(rank) * transfer.bytes, members, stream,
          [&](std::size_t place) { return of(place).at + teams.place(rank) * transfer.bytes; });
    } else {
      for (std::size_t place = 0; place < members; ++place)
        if (std::byte* const to = all + place * transfer.bytes; of(place).at != to)
          runtime_.copy(to, of(place).at, transfer.bytes, stream);
    }
    reading.reset();
    runtime_.record(taken_, stream);
    const std::vector<typename R::Event> taken = comm::gather_small(*ranks_, taken_);
    for (std::size_t place = 0; place < members; ++place)
      if (const std::size_t other = teams.member(rank, place); other != rank) runtime_.wait(stream, taken[other]);
  }
  void synchronize(typename R::Event event) { runtime_.synchronize(event); }
  void abort() {}
  /// No other rank reads this one's memory afterwards, but for work that is queued when this returns: memory that is
  /// freed waits for that, on a GPU and emulated. The others only queue work meanwhile, so this needs no deadline.
  void close(typename R::Stream stream) {
    if (are_alone()) return;
    while (readers_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
    try {
      const auto scope = runtime_.scope();
      runtime_.record(taken_, stream);
      runtime_.synchronize(taken_);
    } catch (const Error&) {  // of a lost device; an earlier error says why
    }
  }

 private:
  /// What a rank shows the others: its slice, or all of them to be summed, from this event on.
  struct Given {
    const std::byte* at = nullptr;
    std::size_t bytes = 0;
    comm::CollectiveKind kind{};
    typename R::Event event{};
    std::atomic<std::ptrdiff_t>* readers = nullptr;
  };
  /// While it lives, this rank queues work that reads the others' memory.
  class Reading final {
   public:
    Reading(const std::vector<Given>& given, comm::Teams teams, std::size_t rank, std::size_t members)
        : given_(given), teams_(teams), rank_(rank), members_(members) {}
    Reading(const Reading&) = delete;
    ~Reading() {
      for (std::size_t place = 0; place < members_; ++place)
        if (const std::size_t other = teams_.member(rank_, place); other != rank_)
          given_[other].readers->fetch_sub(1, std::memory_order_release);
    }

   private:
    const std::vector<Given>& given_;
    comm::Teams teams_;
    std::size_t rank_, members_;
  };

  /// All ranks show, or none: then nobody reads.
  std::vector<Given> show(const Given& own, std::size_t others) {
    readers_ = static_cast<std::ptrdiff_t>(others);
    try {
      return comm::gather_small(*ranks_, own);
    } catch (...) {
      readers_ = 0;
      throw;
    }
  }

  void sum(const engine::Transfer& transfer, std::byte* out, std::size_t members, typename R::Stream stream,
           const auto& summand) {
    switch (transfer.element) {
      case ElementType::float64:
        return sum_of<fp64>(transfer, out, members, stream, summand);
      case ElementType::float32:
        return sum_of<fp32>(transfer, out, members, stream, summand);
      case ElementType::bfloat16:
        return sum_of<bf16>(transfer, out, members, stream, summand);
      case ElementType::float16:
        return sum_of<fp16>(transfer, out, members, stream, summand);
    }
  }
  template <class T>
  void sum_of(const engine::Transfer& transfer, std::byte* out, std::size_t members, typename R::Stream stream,
              const auto& summand) {
    using Kernel = kernel::SumOfRanks<T>;
    Kernel sum{.out = reinterpret_cast<T*>(out), .ranks = members, .count = transfer.count()};
    if (sum.count == 0) return;
    for (std::size_t place = 0; place < members; ++place) sum.of[place] = reinterpret_cast<const T*>(summand(place));
    runtime_.launch(sum, Grid{.blocks = sum.blocks(), .threads = Kernel::threads}, stream);
  }

  R& runtime_;
  Ranks* ranks_;
  typename R::Event given_{}, taken_{};      // the others ask for them
  std::atomic<std::ptrdiff_t> readers_ = 0;  // of this rank's memory
};

/// By the library that connects GPUs; the hosts of the ranks agree, wait and name who failed.
///
/// A collective that misses a rank never ends by itself, not in a graph either. So the host does not wait in the driver
/// for ever: it asks whether the event is over, and between whiles whether the library has seen an error, whether a
/// rank has left, ended or was killed, and whether the deadline has passed. Then it aborts the connections, so that the
/// device is free, and lets the hosts find out who is missing.
///
/// failure   PeerError with the rank that left or ended, within `patience` of it; with one that hangs, once the
///           deadline of the hosts has passed twice, here and in their own exchange
template <Runtime R>
class RanksOfGpus {
 public:
  using Ranks = comm::Control;
  static constexpr bool has_graphs = true;
  RanksOfGpus(R& runtime, Ranks* ranks) : runtime_(runtime), ranks_(ranks) {}

  /// Each rank of a host has a device of its own.
  static void take_device(Ranks& ranks) {
    // Several GPUs in one process can deadlock where steps are captured (NCCL, "Using NCCL with CUDA Graphs").
    if constexpr (!requires { R::ranks_are_threads; }) comm::expect_processes(ranks, "Communicator<Nccl>");
    R::take_device(comm::place_on_host(ranks));
  }

  bool are_alone() const { return ranks_ == nullptr; }

  /// Connects the ranks of the transfer's teams. All ranks call it in the same order.
  void prepare(const engine::Transfer& transfer) {
    const comm::Teams teams = transfer.teams;
    if (found(teams) != nullptr) return;
    const std::size_t place = teams.place(ranks_->rank());
    const auto ids = comm::gather_small(*ranks_, place == 0 ? R::make_id() : typename R::Id{});
    connected_.push_back(
        {.teams = teams,
         .connection = runtime_.connect(ids[teams.member(ranks_->rank(), 0)], place, teams.members(ranks_->size()))});
    settle(connected_.back().connection);
  }
  void queue(comm::CollectiveKind kind, const engine::Transfer& transfer, std::byte* base, typename R::Stream stream) {
    Connected* const to = found(transfer.teams);
    if (to == nullptr)
      throw Error("a collective of GPUs", "ranks that are connected", "none: an earlier error has ended them",
                  "make a new communicator and Trainer, and load what was saved last");
    std::byte* const all = base + transfer.all;
    const std::byte* const own = kind == comm::CollectiveKind::ReduceScatter
                                     ? all + transfer.teams.place(ranks_->rank()) * transfer.bytes
                                     : base + transfer.own;
    runtime_.collect(to->connection, {kind, transfer.element, transfer.bytes}, own, all, stream);
    settle(to->connection);
  }
  void synchronize(typename R::Event event) {
    if (!connected_.empty()) wait([&] { return runtime_.is_done(event); });
    else runtime_.synchronize(event);
    expect_no_error();
  }

  /// Ends what is queued.
  void abort() {
    for (Connected& each : connected_) runtime_.abort(each.connection);
    connected_.clear();
  }
  /// Ends orderly if all that was queued there ends; while the hosts can still speak.
  void close(typename R::Stream stream) {
    if (connected_.empty()) return;
    try {
      const auto scope = runtime_.scope();
      const typename R::Event end = runtime_.make_event();
      runtime_.record(end, stream);
      synchronize(end);
      connected_.clear();
    } catch (...) { abort(); }
  }

 private:
  struct Connected {
    comm::Teams teams{};
    typename R::Connection connection{};
  };
  using Clock = comm::detail::Clock;
  /// How long a rank may seem to be gone before that counts: it may have ended after it gave its part.
  static constexpr std::chrono::seconds patience{5};

  Connected* found(comm::Teams teams) {
    for (Connected& each : connected_)
      if (each.teams.size == teams.size && each.teams.stride == teams.stride) return &each;
    return nullptr;
  }
  void settle(typename R::Connection& connection) {
    wait([&] { return is_ready(connection); });
  }
  bool is_ready(typename R::Connection& connection) {
    try {
      return runtime_.is_ready(connection);
    } catch (const Error& error) { fail(error.what()); }
  }
  void expect_no_error() {
    for (Connected& each : connected_) (void)is_ready(each.connection);
  }

  template <class IsOver>
  void wait(const IsOver& is_over) {
    const Clock::time_point start = Clock::now(), until = comm::detail::end_of(ranks_->deadline(), start);
    Clock::time_point look = start + std::chrono::milliseconds(10), missed{};
    while (!is_over()) {
      const Clock::time_point now = Clock::now();
      if (now < look) {
        if (now - start < std::chrono::milliseconds(1)) std::this_thread::yield();
        else std::this_thread::sleep_for(std::chrono::microseconds(20));
        continue;
      }
      look = now + std::chrono::milliseconds(10);
      expect_no_error();
      const std::string gone = who_is_gone();
      if (gone.empty()) missed = {};
      else if (missed == Clock::time_point{}) missed = now;
      else if (now - missed > patience) fail(gone + " ended, or was killed");
      if (now > until) fail("no end within " + comm::detail::words(ranks_->deadline()));
    }
  }
  std::string who_is_gone() {
    try {
      return ranks_->gone();
    } catch (...) {  // a rank has left, and says why
      abort();
      throw;
    }
  }
  /// Frees the device, then asks the hosts, which name who is missing.
  [[noreturn]] void fail(const std::string& found) {
    abort();
    comm::meet_after_failure(*ranks_);
    throw Error("the collectives of the GPUs", "all ranks to take part in the same ones", found,
                "see what the other ranks report; with NCCL_DEBUG=WARN the library says more");
  }

  R& runtime_;
  Ranks* ranks_;
  std::deque<Connected> connected_;
};

namespace detail {
template <class R, class Communicator>
constexpr auto ranks_by() {
  using Ranks = typename Communicator::ranks;
  if constexpr (connects_gpus<Ranks>) return std::type_identity<RanksOfGpus<R>>{};
  else if constexpr (std::is_same_v<Ranks, Threads>) return std::type_identity<RanksOfThreads<R>>{};
  else return std::type_identity<NoRanks<R>>{};
}
}  // namespace detail

/// The order of collectives and operations. A collective begins after the operations that were queued before it, and
/// ends before those that are queued after its await; meanwhile both run.
template <Runtime R, class Communicator>
class Transport final {
  using By = typename decltype(detail::ranks_by<R, Communicator>())::type;

 public:
  using Ranks = typename By::Ranks;
  /// Whether a graph can have a collective.
  static constexpr bool has_graphs = By::has_graphs;
  /// The device for this rank becomes the calling thread's.
  static void take_device(Ranks& ranks)
    requires requires { By::take_device(ranks); }
  {
    By::take_device(ranks);
  }

  Transport(R& runtime, typename R::Stream compute, Ranks* ranks)
      : runtime_(runtime), compute_(compute), by_(runtime, ranks) {
    if (by_.are_alone()) return;
    waits_at_start_ = ranks->waits_at_start();
    stream_ = runtime_.make_stream();
    for (std::size_t i = 0; i < most_tickets; ++i) sent_.push_back(runtime_.make_event());
    before_ = runtime_.make_event();
  }
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  ~Transport() { close(); }

  /// What collectives of these ranks need.
  void prepare(const engine::Transfer& transfer) { by_.prepare(transfer); }
  /// Returns a ticket; they count from 1.
  std::size_t send(comm::CollectiveKind kind, const engine::Transfer& transfer, std::byte* base) {
    const std::size_t ticket = ++tickets_;
    runtime_.record(before_, compute_);
    runtime_.wait(stream_, before_);
    by_.queue(kind, transfer, base, stream_);
    runtime_.record(sent_.at(ticket % most_tickets), stream_);
    if (waits_at_start_) await(ticket);
    return ticket;
  }
  /// What is queued from now on comes after that collective.
  void await(std::size_t ticket) { runtime_.wait(compute_, sent_.at(ticket % most_tickets)); }
  /// The host waits until that collective is over.
  void finish(std::size_t ticket) { synchronize(sent_.at(ticket % most_tickets)); }
  /// The host waits, and throws what the ranks, or earlier operations, have failed with.
  void synchronize(typename R::Event event) { by_.synchronize(event); }
  void abort() { by_.abort(); }
  void close() { by_.close(stream_); }

 private:
  /// Collectives that may be on their way: the walk has two gathers and two reductions at most, and KeepSegments
  /// gathers a segment at once. A ticket that comes so many later uses the event again; who awaits the older one then
  /// waits for the younger, too, which comes after it on the same stream.
  static constexpr std::size_t most_tickets = 1024;

  R& runtime_;
  typename R::Stream compute_, stream_{};
  By by_;
  std::vector<typename R::Event> sent_;  // by tickets
  typename R::Event before_{};
  std::size_t tickets_ = 0;
  bool waits_at_start_ = false;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
