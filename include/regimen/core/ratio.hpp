// regimen/core/ratio.hpp — a fraction as a type.
#pragma once

#include <cstdint>

namespace regimen {

/// A fraction inside a type: `Dropout<Ratio<1, 10>>`, `Clip<Norm<Ratio<1>>>`. (clang 14 has no floating
/// template arguments.)
///
///   value     Numerator / Denominator, rounded once to fp64
///
/// A denominator of zero is refused by the policy or the layer that holds the ratio.
template <std::intmax_t Numerator, std::intmax_t Denominator = 1>
struct Ratio final {
  static constexpr std::intmax_t numerator = Numerator, denominator = Denominator;
  static constexpr double value =
      Denominator == 0 ? 0.0 : static_cast<double>(Numerator) / static_cast<double>(Denominator);
};

template <class T>
inline constexpr bool is_ratio = false;
template <std::intmax_t Numerator, std::intmax_t Denominator>
inline constexpr bool is_ratio<Ratio<Numerator, Denominator>> = true;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
