// regimen/optimizer/range.hpp — checks the ranges of hyper-parameters and schedules.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/schedule.hpp>

#include <limits>
#include <string>

namespace regimen::detail {

[[noreturn, gnu::cold]] inline void out_of_range(const std::string& option, const char* range, double value) {
  throw Error("Trainer, options." + option, std::string("a number ") + range, digits_of(value));
}

/// Throws Error unless value, the decay of a moving average, is in [0, 1).
inline void in_unit_range(const char* option, double value) {
  if (!(value >= 0 && value < 1)) out_of_range(option, "in [0, 1)", value);
}
/// Throws Error unless value is finite and at least 0.
inline void at_least_zero(const std::string& option, double value) {
  if (!(value >= 0 && value <= (std::numeric_limits<double>::max)())) out_of_range(option, "of at least 0", value);
}
/// Throws Error unless value is above 0 after rounding to the type of the weights.
template <class Master>
void above_zero(const char* option, double value) {
  if (!(static_cast<Master>(value) > 0 && value <= (std::numeric_limits<double>::max)()))
    out_of_range(option, std::numeric_limits<Master>::digits == 24 ? "above 0 in fp32" : "above 0 in fp64", value);
}
/// Throws Error when a number of a schedule lies outside its range.   option   which schedule of a Trainer's options
inline void in_range(const std::string& option, const Schedule& schedule) {
  const bool stairs = schedule.shape == Schedule::Shape::stairs;
  at_least_zero(option + (stairs ? ", factor" : ", floor"), schedule.floor);
  if (schedule.shape != Schedule::Shape::constant &&
      (schedule.end == 0 || schedule.end < schedule.warmup || schedule.end < schedule.decay_from))
    throw Error("Trainer, options." + option,
                stairs ? "every at least 1" : "steps of at least 1, warmup and decay_from",
                std::to_string(schedule.end));
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
