// regimen/trainers/launches.hpp — steps that have started and may still be running, and their results.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/trainers/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace regimen::trainers {

/// Steps that started together.
struct StartedSteps {
  std::uint64_t last = 0;  // the number of the last step
  std::size_t count = 0, samples = 0;
  DataPlace place{};               // where they began to read
  double started = 0, waited = 0;  // seconds; for data
};
/// The host gets each step's scalars when it has run.
template <class Engine, std::size_t most>
struct Launch final : StartedSteps {
  std::array<Scalars, most> scalars{};
  typename Engine::Fence read{};
};
/// The last two launches, of up to `most` steps each: the newer one may start before the results of the older one are
/// read.
template <class Engine, std::size_t most>
struct Launches final {
  Launch<Engine, most> of[2]{};
  std::size_t count = 0;                         // since the beginning
  std::array<StepResult, most> results{};        // of the last that was read
  double started = 0, waited = 0, finished = 0;  // waited: of the step that begins, for data

  Launch<Engine, most>& next() { return of[count++ % 2]; }
};

/// The results of steps that have run; Error if Debug<Anomaly> found something in them.
///   before, end   the times when the steps before them ended, and when these steps ended
void write_results(const StartedSteps& steps, std::span<const Scalars> scalars, std::size_t ranks, double before,
                   double end, std::span<StepResult> results);

}  // namespace regimen::trainers

#if !REGIMEN_COMPILED
#include <regimen/trainers/launches.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
