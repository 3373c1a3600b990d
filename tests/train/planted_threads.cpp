// Ranks that are threads and share a device: an event that one of them does not wait for, or memory that it gives away
// too early, changes the results in some order of the device's work.
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"
#include "train/planted_run.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

constexpr std::uint64_t seeds = 12;  // three of each temper of the device
constexpr std::size_t ranks = 3, culprit = 1;

enum class Defect : unsigned char {
  none,
  reads_early,  // does not wait for what the others give
  goes_early,   // does not wait until the others have taken
  leaves_out,   // adds no other rank
};

/// The sound device, but for the culprit.
class Spoilt : public emulated::Runtime {
  using Base = emulated::Runtime;

 public:
  static inline Defect planted = Defect::none;
  static inline thread_local bool is_culprit = false;
  static inline std::atomic<std::size_t> spoilt = 0;

  Event make_event() {
    own_.push_back(Base::make_event().index);
    return {own_.back()};
  }
  /// In a collective the others' events come in two rounds: what they give, and that they have taken.
  void wait(Stream stream, Event event) {
    const bool is_own = std::find(own_.begin(), own_.end(), event.index) != own_.end();
    if (is_own || !is_culprit) return Base::wait(stream, event);
    const bool gives = foreign_++ / (ranks - 1) % 2 == 0;
    if (planted == (gives ? Defect::reads_early : Defect::goes_early)) ++spoilt;
    else Base::wait(stream, event);
  }
  using Base::launch;
  template <class T>
  void launch(const kernel::SumOfRanks<T>& sum, cuda::Grid grid, Stream stream) {
    kernel::SumOfRanks<T> other = sum;
    if (is_culprit && planted == Defect::leaves_out) {
      other.ranks = 1;
      ++spoilt;
    }
    Base::launch(other, grid, stream);
  }

 private:
  std::vector<std::size_t> own_;
  std::size_t foreign_ = 0;
};

template <class Stage>
Found run(std::uint64_t seed) {
  emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20};
  const Found all = in_a_process(Spoilt::spoilt, [](Found& found) {
    std::vector<std::vector<double>> numbers(ranks);
    launch(ranks, [&](comm::Threads& threads) {
      Spoilt::is_culprit = threads.rank() == culprit;
      Trainer<Gpt<2>, Batch<2>, Communicator<Threads>, Shard<Stage>, Device<OnRuntime<Spoilt>>> trainer(threads);
      std::vector<double>& own = numbers[threads.rank()];
      trainer.poison_dead_memory();
      own = {trainer.fit(data(), {.steps = 4, .progress = false}).loss, trainer.evaluate(data()).loss};
      for (const double weight : support::weights_of<double>(trainer)) own.push_back(weight);
    });
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
}
// SPDX-License-Identifier: Apache-2.0
