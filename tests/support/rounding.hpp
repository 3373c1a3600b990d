// tests/support/rounding.hpp — how far apart two ways to train may be, because they round or add differently.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace support {

/// The largest distance between two lists, in units of the larger number, or of 1. NaN is near nothing.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = std::fabs(a[i] - b[i]) / (std::max)({std::fabs(a[i]), std::fabs(b[i]), 1.0});
    if (!(apart <= largest)) largest = std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
  }
  return largest;
}

/// In fp64 two ways to train differ by their order of sums alone. For 12 steps of sums of at most some thousand terms,
/// each 2^-53, in a network whose steps enlarge a difference by less than two: 2^12 * 1e4 * 2^-53 < 1e-8.
inline constexpr double of_order = 1e-8;

/// How far from fp64 another way to train in a narrower format may be, if the CPU engine is `far` from it. Roundings
/// that favour no side add up as the root of their number in a row. The CPU engine adds in up to 16 lanes; one lane
/// rounds up to 16 times as often in a row, so it errs √16 times as much. 2^-20 is 16 roundings of a number of size 1
/// in fp32, in case that chance has brought the CPU engine closer.
inline double as_far_as(double far) { return 4 * far + 0x1p-20; }

/// A rounding in fp64 is so much smaller than one in fp32, and so is what the steps that follow make of it.
inline constexpr double fp64_to_fp32 = 0x1p-29;

}  // namespace support
// SPDX-License-Identifier: Apache-2.0
