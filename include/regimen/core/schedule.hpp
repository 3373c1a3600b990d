// regimen/core/schedule.hpp — the learning rate of each step.
#pragma once

#include <regimen/core/hd.hpp>

#include <cmath>
#include <cstdint>

namespace regimen {

/// The learning rate of each step: rate(step) = learning_rate · share(step).
///
///   Schedule::constant()
///   Schedule::warmup_cosine(warmup, steps, floor)     floor: the share at `steps` and after
///   Schedule::warmup_linear(warmup, steps, floor)
///   Schedule::warmup_stable_decay(warmup, decay_from, steps, floor)     linear decay from decay_from to steps
///   Schedule::steps(every, factor)                    multiplied by factor after every `every` steps
///
/// `steps` counts optimizer steps. The comment of Accumulate (policy/accumulate.hpp) has the number for a run of
/// epochs.
///
/// Ranges, which a Trainer checks: warmup and decay_from <= steps; floor and factor >= 0; every >= 1.
///
/// Warm-up: step s (from 0) of `warmup` has the share (s + 1) / (warmup + 1).
struct Schedule final {
  enum class Shape { constant, cosine, linear, stable, stairs };
  Shape shape = Shape::constant;
  std::uint64_t warmup = 0, decay_from = 0, end = 0;
  double floor = 0;

  static constexpr Schedule constant() { return {}; }
  static constexpr Schedule warmup_cosine(std::uint64_t warmup, std::uint64_t steps, double floor = 0) {
    return {.shape = Shape::cosine, .warmup = warmup, .decay_from = warmup, .end = steps, .floor = floor};
  }
  static constexpr Schedule warmup_linear(std::uint64_t warmup, std::uint64_t steps, double floor = 0) {
    return {.shape = Shape::linear, .warmup = warmup, .decay_from = warmup, .end = steps, .floor = floor};
  }
  static constexpr Schedule warmup_stable_decay(std::uint64_t warmup, std::uint64_t decay_from, std::uint64_t steps,
                                                double floor = 0) {
    return {.shape = Shape::stable, .warmup = warmup, .decay_from = decay_from, .end = steps, .floor = floor};
  }
  static constexpr Schedule steps(std::uint64_t every, double factor) {
    return {.shape = Shape::stairs, .end = every, .floor = factor};
  }

  REGIMEN_HD double share(std::uint64_t step) const {
    if (step < warmup) return (double(step) + 1) / (double(warmup) + 1);
    if (shape == Shape::constant) return 1;
    if (shape == Shape::stairs) return std::pow(floor, double(step / end));
    if (step < decay_from) return 1;
    if (step >= end) return floor;
    const double done = double(step - decay_from) / double(end - decay_from);
    // std::fma: else a compiler's flags decide whether a product is rounded before it is added.
    return shape == Shape::cosine ? std::fma((1 - floor) * 0.5, 1 + std::cos(3.14159265358979323846 * done), floor)
                                  : std::fma(1 - floor, 1 - done, floor);
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
