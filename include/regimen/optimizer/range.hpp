// regimen/optimizer/range.hpp — checks the ranges of hyper-parameters and schedules.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/schedule.hpp>

#include <limits>
#include <string>

namespace regimen::detail {

[[noreturn, gnu::cold]] void out_of_range(const std::string& option, const char* range, double value);

/// Throws Error unless value, the decay of a moving average, is in [0, 1).
void in_unit_range(const char* option, double value);
/// Throws Error unless value is finite and at least 0.
void at_least_zero(const std::string& option, double value);
/// Throws Error unless value is above 0 after rounding to the type of the weights.
template <class Master>
void above_zero(const char* option, double value) {
  if (!(static_cast<Master>(value) > 0 && value <= (std::numeric_limits<double>::max)()))
    out_of_range(option, std::numeric_limits<Master>::digits == 24 ? "above 0 in fp32" : "above 0 in fp64", value);
}
/// Throws Error when a number of a schedule lies outside its range.   option   which schedule of a Trainer's options
void in_range(const std::string& option, const Schedule& schedule);

}  // namespace regimen::detail

#if !REGIMEN_COMPILED
#include <regimen/optimizer/range.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
