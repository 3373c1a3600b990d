// Ranks that are threads and share a device: an event that one of them does not wait for, or memory that it gives away
// too early, changes the results in some order of the device's work.
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"
#include "train/planted_run.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

constexpr std::uint64_t seeds = 12;  // three of each temper of the device
constexpr std::size_t ranks = 3;

enum class Defect : unsigned char {
  none,
  reads_early,     // does not wait for what the others give
  goes_early,      // does not wait until the others have taken
  leaves_out,      // adds no other rank
  launches_early,  // launches the graph of all ranks before their earlier work has ended
  returns_early,   // goes on before that graph has ended
};
/// Rank 0 launches the graphs.
constexpr std::size_t culprit_of(Defect defect) { return defect == Defect::launches_early ? 0 : 1; }

/// The sound device, but for the culprit.
class Spoilt : public emulated::Runtime {
  using Base = emulated::Runtime;

 public:
  static inline Defect planted = Defect::none;
  static inline thread_local std::size_t rank = 0;
  static inline std::atomic<std::size_t> spoilt = 0;
  static inline std::mutex turns;
  static inline std::size_t turn = 0;
  static inline bool are_in_turns = true;

  Stream make_stream() {
    const Stream made = Base::make_stream();
    if (compute_ == none) compute_ = made.index;
    return made;
  }
  Event make_event() {
    own_.push_back(Base::make_event().index);
    return {own_.back()};
  }
  /// In a capture ranks take turns, from one meeting to the next.
  void record(Event event, Stream stream) {
    const std::lock_guard lock(turns);
    if (capture_of(stream) != 0 && rank != turn && rank != (turn = (turn + 1) % ranks)) are_in_turns = false;
    Base::record(event, stream);
  }
  /// The other ranks' events come to the stream of collectives in two rounds, what they give and that they have taken;
  /// to the stream of operations where a capture begins or ends, or its graph is launched.
  void wait(Stream stream, Event event) {
    const bool is_own = std::find(own_.begin(), own_.end(), event.index) != own_.end();
    if (is_own || rank != culprit_of(planted)) return Base::wait(stream, event);
    const bool launches = stream.index == compute_;
    const Defect here = launches ? (rank == 0 ? Defect::launches_early : Defect::returns_early)
                        : foreign_++ / (ranks - 1) % 2 == 0 ? Defect::reads_early
                                                            : Defect::goes_early;
    if (planted == here && !(launches && is_captured(event))) ++spoilt;
    else Base::wait(stream, event);
  }
  using Base::launch;
  template <class T>
  void launch(const kernel::SumOfRanks<T>& sum, cuda::Grid grid, Stream stream) {
    kernel::SumOfRanks<T> other = sum;
    if (planted == Defect::leaves_out && rank == culprit_of(planted)) {
      other.ranks = 1;
      ++spoilt;
    }
    Base::launch(other, grid, stream);
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  std::vector<std::size_t> own_;
  std::size_t foreign_ = 0, compute_ = none;
};

template <class Stage>
Found run(std::uint64_t seed) {
  emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20};
  const Found all = in_a_process(Spoilt::spoilt, [](Found& found) {
    std::vector<std::vector<double>> numbers(ranks);
    launch(ranks, [&](comm::Threads& threads) {
      Spoilt::rank = threads.rank();
      Trainer<Gpt<2>, Batch<2>, Communicator<Threads>, Shard<Stage>, Device<OnRuntime<Spoilt>>> trainer(threads);
      std::vector<double>& own = numbers[threads.rank()];
      trainer.poison_dead_memory();
      own = {trainer.fit(fake_data(), {.steps = 4, .progress = false}).loss, trainer.evaluate(fake_data()).loss};
      for (const double weight : support::weights_of<double>(trainer)) own.push_back(weight);
    });
    if (!Spoilt::are_in_turns) throw std::logic_error("ranks captured at once");
    for (const std::vector<double>& own : numbers) found.numbers.insert(found.numbers.end(), own.begin(), own.end());
  });
  emulated::Runtime::defaults = {};
  return all;
}

/// In how many orders the defect is found.
template <class Stage>
std::size_t finds(Defect defect) {
  return orders_that_find(seeds, run<Stage>, [&](bool now) { Spoilt::planted = now ? defect : Defect::none; });
}

}  // namespace

TEST_CASE("ranks that share a device compute the same bits in every order, but for a defect") {
  const Found first = run<ZeRO3>(0);
  CHECK(first.error == "");
  for (std::uint64_t seed = 1; seed < seeds; ++seed) CHECK(run<ZeRO3>(seed) == first);
  CHECK(finds<ZeRO3>(Defect::reads_early) > 0);
  CHECK(finds<ZeRO3>(Defect::goes_early) > 0);
  CHECK(finds<ZeRO3>(Defect::leaves_out) == seeds);
  CHECK(finds<ZeRO3>(Defect::launches_early) > 0);
  CHECK(finds<ZeRO3>(Defect::returns_early) > 0);
}
// SPDX-License-Identifier: Apache-2.0
