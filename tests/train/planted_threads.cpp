// Ranks that are threads and share a device: an event that one of them does not wait for, or memory that it gives away
// too early, changes the results in some order of the device's work.
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"

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

struct Found {
  std::vector<double> numbers;
  std::string error;
  bool operator==(const Found&) const = default;
};

template <class Stage>
Found run(std::uint64_t seed) {
  emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20};
  std::vector<Found> found(ranks);
  Found all;
  all.error = ::test::error_of([&] {
    launch(ranks, [&](comm::Threads& threads) {
      Spoilt::is_culprit = threads.rank() == culprit;
      Trainer<Gpt<2>, Batch<2>, Communicator<Threads>, Shard<Stage>, Device<OnRuntime<Spoilt>>> trainer(threads);
      Found& own = found[threads.rank()];
      trainer.poison_dead_memory();
      own.numbers = {trainer.fit(data(), {.steps = 4, .progress = false}).loss, trainer.evaluate(data()).loss};
      for (const double weight : support::weights_of<double>(trainer)) own.numbers.push_back(weight);
    });
  });
  for (const Found& own : found) all.numbers.insert(all.numbers.end(), own.numbers.begin(), own.numbers.end());
  emulated::Runtime::defaults = {};
  return all;
}

/// In how many orders the defect is found.
template <class Stage>
std::size_t finds(Defect defect) {
  const Found sound = run<Stage>(0);
  CHECK(sound.error == "");
  Spoilt::planted = defect;
  Spoilt::spoilt = 0;
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) found += !(run<Stage>(seed) == sound);
  Spoilt::planted = Defect::none;
  CHECK((defect == Defect::none || Spoilt::spoilt > 0));
  return found;
}

}  // namespace

TEST_CASE("ranks that share a device compute the same bits in every order, but for a defect") {
  CHECK(finds<ZeRO3>(Defect::none) == 0);
  CHECK(finds<ZeRO3>(Defect::reads_early) > 0);
  CHECK(finds<ZeRO3>(Defect::goes_early) > 0);
  CHECK(finds<ZeRO3>(Defect::leaves_out) == seeds);
}
// SPDX-License-Identifier: Apache-2.0
