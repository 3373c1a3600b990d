// regimen/trainers/launches.ipp — the bodies of launches.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/trainers/expect.hpp>
#include <regimen/trainers/launches.hpp>

#include <algorithm>

namespace regimen::trainers {

REGIMEN_INLINE void write_results(const StartedSteps& steps, std::span<const Scalars> scalars, std::size_t ranks,
                                  double before, double end, std::span<StepResult> results) {
  const double milliseconds = (end - (std::max)(steps.started, before)) * 1e3;
  for (std::size_t i = 0; i < steps.count; ++i) {
    const Scalars& s = scalars[i];
    expect_finite(s);
    results[i] = StepResult{.step = steps.last - steps.count + i + 1,
                            .loss = s.loss,
                            .gradient_norm = s.gradient_norm,
                            .learning_rate = s.learning_rate,
                            .loss_scale = s.loss_scale,
                            .applied = s.apply != 0,
                            .milliseconds = milliseconds / double(steps.count),
                            .waited = steps.waited * 1e3 / double(steps.count),
                            .samples = steps.samples / steps.count * ranks,
                            .targets = whole_targets(s.count),
                            .weight = s.count};
  }
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
