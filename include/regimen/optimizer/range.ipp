// regimen/optimizer/range.ipp — the bodies of range.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/optimizer/range.hpp>

namespace regimen::detail {

REGIMEN_INLINE void out_of_range(const std::string& option, const char* range, double value) {
  throw Error("Trainer, options." + option, std::string("a number ") + range, digits_of(value));
}

REGIMEN_INLINE void in_unit_range(const char* option, double value) {
  if (!(value >= 0 && value < 1)) out_of_range(option, "in [0, 1)", value);
}

REGIMEN_INLINE void at_least_zero(const std::string& option, double value) {
  if (!(value >= 0 && value <= (std::numeric_limits<double>::max)())) out_of_range(option, "of at least 0", value);
}

REGIMEN_INLINE void in_range(const std::string& option, const Schedule& schedule) {
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
