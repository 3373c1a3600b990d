// regimen/engine/cuda/ranks_of_threads.hpp — ranks that are threads and share a GPU.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/comm/control.hpp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/graphs.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/kernel/sum_of_ranks.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace regimen::cuda {

/// Ranks that are threads and share one device: their streams read each other's memory. The hosts meet twice in each
/// collective and tell each other what to wait for, so that streams only wait for what is queued already, and nothing
/// on the device ever waits for a host.
///
/// A graph that waits for another rank's graph could run before that is launched, so one graph has the work of all
/// ranks: rank 0 begins and ends the capture, which the streams of the others join, and launches the graph for all.
/// Threads may not change a graph at once (CUDA, "Graph object thread safety"): in a capture ranks queue in turns.
///
/// sums      in the tree of comm/tree.hpp: the bits do not depend on the Shard
/// failure   PeerError with the rank that left, or that was missing when the deadline of the hosts had passed
/// cost      each slice is read once by each rank that needs it; the hosts meet twice in a collective that is queued by
///           calls, 2 + 2 · (ranks - 1) times in one that is captured, and twice in the launch of a graph
template <Runtime R>
class RanksOfThreads : public SingleRank<R> {
 public:
  using typename SingleRank<R>::Graph;
  using typename SingleRank<R>::Stream;
  using typename SingleRank<R>::Event;
  RanksOfThreads(R& runtime, comm::Control* ranks) : SingleRank<R>(runtime, ranks), ranks_(ranks) {
    if (are_alone()) return;
    if (ranks->size() > kernel::most_ranks_of_device)
      throw Error("ranks that share a GPU", "at most " + std::to_string(kernel::most_ranks_of_device),
                  std::to_string(ranks->size()));
    comm::agree_in_words(ranks, "ranks that are threads", "GPU", std::to_string(runtime.device()),
                         "give cudaSetDevice the same number in the thread of each rank");
    given_ = runtime.make_lasting_event();
    taken_ = runtime.make_lasting_event();
  }

  /// An emulated device has to know that it is shared. All ranks are here, so that none of them holds the memory of an
  /// earlier Trainer when room() is asked.
  static void take_device(comm::Control& ranks) {
    if constexpr (requires { R::new_device(); }) R::share_device(comm::gather_small(ranks, R::new_device())[0]);
    else comm::barrier(&ranks);
  }

  static Room room(Room own, comm::Control* ranks) {
    if (ranks == nullptr) return own;
    Room all{.unused = own.unused};
    for (const Room& each : comm::gather_small(*ranks, own)) {
      all.unused = (std::min)(all.unused, each.unused);
      all.needed += each.needed;
    }
    return all;
  }

  bool are_alone() const { return ranks_ == nullptr; }
  void queue(comm::CollectiveKind kind, const engines::Transfer& transfer, std::byte* base, Stream stream) {
    const bool sums = kind == comm::CollectiveKind::ReduceScatter;
    const comm::Teams teams = transfer.teams;
    const std::size_t rank = ranks_->rank(), members = teams.members(ranks_->size());
    runtime_.record(given_, stream);
    if (in_turns_) pass_turn();
    const std::vector<Contribution> given = show({.at = base + (sums ? transfer.all : transfer.own),
                                                  .bytes = transfer.bytes,
                                                  .kind = kind,
                                                  .event = given_,
                                                  .readers = &readers_},
                                                 members - 1);
    {
      const Reader reader{given, teams, rank, members};  // from here on it ends in any case
      if (in_turns_) take_turn();
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
        with_element(transfer.element, [&]<class T>(T) {
          using Kernel = kernel::SumOfRanks<T>;
          const std::size_t own = teams.place(rank) * transfer.bytes;
          Kernel sum{.out = reinterpret_cast<T*>(all + own), .ranks = members, .count = transfer.count()};
          if (sum.count == 0) return;
          for (std::size_t place = 0; place < members; ++place)
            sum.of[place] = reinterpret_cast<const T*>(of(place).at + own);
          runtime_.launch(sum, Grid{.blocks = sum.blocks(), .threads = Kernel::threads}, stream);
        });
      } else {
        for (std::size_t place = 0; place < members; ++place)
          if (std::byte* const to = all + place * transfer.bytes; of(place).at != to)
            runtime_.copy(to, of(place).at, transfer.bytes, stream);
      }
    }
    runtime_.record(taken_, stream);
    if (in_turns_) pass_turn();
    const std::vector<Event> taken = comm::gather_small(*ranks_, taken_);
    if (in_turns_) take_turn();
    for (std::size_t place = 0; place < members; ++place)
      if (const std::size_t other = teams.member(rank, place); other != rank) runtime_.wait(stream, taken[other]);
  }

  // ---- graphs: all ranks call these together

  void begin_capture(Stream stream) {
    if (are_alone()) return runtime_.begin_capture(stream);
    meet();  // from now on ranks call the device only for what is captured
    if (leads()) {
      runtime_.begin_capture(stream);
      runtime_.record(taken_, stream);
    }
    const Event begun = comm::gather_small(*ranks_, taken_)[0];  // until the second meeting of the first collective
    in_turns_ = true;
    take_turn();
    if (!leads()) runtime_.wait(stream, begun);
  }
  /// Rank 0's has the work of all.
  Graph end_capture(Stream stream) {
    if (are_alone()) return runtime_.end_capture(stream);
    runtime_.record(given_, stream);
    pass_turn();
    in_turns_ = false;
    const std::vector<Event> ends = comm::gather_small(*ranks_, given_);
    Graph graph{};
    if (leads()) {
      wait_for_others(stream, ends);
      graph = runtime_.end_capture(stream);
    }
    meet();
    return graph;
  }
  /// If another rank has left, which ends a capture, that is the reason, and not what this one found then.
  void drop_capture(Stream stream) {
    in_turns_ = false;
    if (leads()) SingleRank<R>::drop_capture(stream);
    if (!are_alone()) (void)ranks_->gone();
  }
  void launch_graph(const Graph& graph, Stream stream) {
    if (are_alone()) return runtime_.launch(graph, stream);
    runtime_.record(given_, stream);
    const std::vector<Event> before = comm::gather_small(*ranks_, given_);
    if (leads()) {
      wait_for_others(stream, before);
      runtime_.launch(graph, stream);
      runtime_.record(taken_, stream);
    }
    const Event end = comm::gather_small(*ranks_, taken_)[0];
    if (!leads()) runtime_.wait(stream, end);
  }
  void destroy_graph(const Graph& graph) {
    if (leads()) runtime_.destroy(graph);
  }

  /// Afterwards only work that is queued when this returns reads this rank's memory for other ranks: memory that is
  /// freed waits for that work, on a GPU and emulated. The others only queue work meanwhile, so this needs no deadline.
  void close(Stream stream) {
    if (are_alone()) return;
    while (readers_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
    try {
      const auto scope = runtime_.scope();
      const Event end = runtime_.make_event();
      runtime_.record(end, stream);
      runtime_.synchronize(end);
    } catch (const Error&) {  // of a lost device; an earlier error says why
    }
  }

 protected:
  using SingleRank<R>::runtime_;

 private:
  /// What a rank shows the others: its slice, or all of them to be summed, from this event on.
  struct Contribution {
    const std::byte* at = nullptr;
    std::size_t bytes = 0;
    comm::CollectiveKind kind{};
    Event event{};
    std::atomic<std::ptrdiff_t>* readers = nullptr;
  };
  /// While it lives, this rank queues work that reads the others' memory.
  struct Reader final {
    const std::vector<Contribution>& given;
    comm::Teams teams;
    std::size_t rank, members;
    ~Reader() {
      for (std::size_t place = 0; place < members; ++place)
        if (const std::size_t other = teams.member(rank, place); other != rank)
          given[other].readers->fetch_sub(1, std::memory_order_release);
    }
  };

  bool leads() const { return are_alone() || ranks_->rank() == 0; }
  void wait_for_others(Stream stream, const std::vector<Event>& events) {
    for (std::size_t other = 0; other < events.size(); ++other)
      if (other != ranks_->rank()) runtime_.wait(stream, events[other]);
  }

  /// A meeting that ranks which do something else are not taken for.
  void meet() {
    struct Meeting {
      std::byte bytes[3];
    };
    (void)comm::gather_small(*ranks_, Meeting{});
  }
  /// Between take_turn and pass_turn no other rank queues anything: rank r is between the meetings r and r + 1.
  void take_turn() {
    for (std::size_t rank = 0; rank < ranks_->rank(); ++rank) meet();
  }
  void pass_turn() {
    for (std::size_t rank = ranks_->rank() + 1; rank < ranks_->size(); ++rank) meet();
  }
  /// All ranks show, or none: then nobody reads.
  std::vector<Contribution> show(const Contribution& own, std::size_t others) {
    readers_ = static_cast<std::ptrdiff_t>(others);
    try {
      return comm::gather_small(*ranks_, own);
    } catch (...) {
      readers_ = 0;
      throw;
    }
  }

  comm::Control* ranks_;
  Event given_{}, taken_{};                  // the others ask for them
  std::atomic<std::ptrdiff_t> readers_ = 0;  // of this rank's memory
  bool in_turns_ = false;                    // in a capture
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
