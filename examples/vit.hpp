// examples/vit.hpp — vision transformers learn made-up images, and each step is timed: what lessons 10 and 11 share.
#pragma once

#include <regimen/models/vit.hpp>
#include <regimen/regimen.hpp>

#include "ranks.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

namespace vit_lesson {

/// The times of steps, each from the end of the one before it, so that the loader's is in it. The first step also makes
/// what all others find made, and is told apart. Of all ranks one tells.
class StepTimes {
 public:
  /// now   seconds, by the clock that all calls read
  StepTimes(std::FILE* out, bool tells, std::uint64_t interval, double now) : out_(tells ? out : nullptr), interval_(interval), before_(now) {}

  void step(std::uint64_t number, double now) {
    const double seconds = now - before_;
    before_ = now;
    if (steps_++ == 0) {
      first_ = seconds;
      return;
    }
    sum_ += seconds;
    if (out_ != nullptr && number % interval_ == 0) std::fprintf(out_, "step: %llu: step time is %.6f\n", static_cast<unsigned long long>(number), seconds);
  }
  /// samples   of a step, on all ranks
  void finish(double built, std::size_t samples) const {
    if (out_ == nullptr) return;
    if (steps_ > 1) std::fprintf(out_, "average step time: %.6f\n%.2f samples/s; ", average(), double(samples) / average());
    std::fprintf(out_, "built in %.3f s, first step %.3f s\n", built, first_);
  }
  double average() const { return steps_ > 1 ? sum_ / double(steps_ - 1) : 0; }

  /// As a callback of fit.
  template <class Train>
  void operator()(Train&, const regimen::StepResult& result) { step(result.step, regimen::detail::now()); }

 private:
  std::FILE* out_;
  std::uint64_t interval_, steps_ = 0;
  double before_, first_ = 0, sum_ = 0;
};

/// Trains on so many images of noise, of which nothing is stored, in their order, and tells the times. Refuses before it takes memory that
/// the machine does not have.
template <class Train>
int timed(const program::TcpRanks& ranks, const program::Options& options, const typename Train::Options& settings, std::uint64_t interval,
          std::uint64_t images = 1'000'000, std::uint64_t workers = 1) {
  const regimen::comm::Membership world = regimen::comm::world_of_environment();
  const regimen::MemoryPlan plan = Train::plan(Train::batch, world.size);
  try {
    program::expect_memory("the network", plan.peak);
  } catch (const regimen::Error&) {
    if (world.rank == 0) std::fputs(plan.table().c_str(), stdout);
    throw;
  }
  const double began = regimen::detail::now();
  return ranks.template train<Train>(settings, [&](Train& trainer) -> int {
    const double built = regimen::detail::now() - began;   // ranks have met, memory is taken, weights are drawn
    program::Session<Train> session(trainer, options);
    StepTimes times(session.out(), session.tells(), interval, regimen::detail::now());
    auto run = options.run();
    run.order = regimen::Order::Sequential;
    run.progress = false;
    run.workers = workers;
    trainer.fit(regimen::Fake{{.samples = images, .classes = Train::output_size}}, run, session, times);
    times.finish(built, Train::batch * trainer.ranks());
    return session.finish();
  });
}

}  // namespace vit_lesson
// SPDX-License-Identifier: Apache-2.0
