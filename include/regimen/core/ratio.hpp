// regimen/core/ratio.hpp — a fraction as a type.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>

namespace regimen {

namespace in_order {
/// regimen::Ratio, in lowest terms.
template <std::intmax_t Numerator, std::intmax_t Denominator = 1>
struct Ratio final {
  static constexpr std::intmax_t numerator = Numerator, denominator = Denominator;
  static constexpr double value =
      Denominator == 0 ? 0.0 : static_cast<double>(Numerator) / static_cast<double>(Denominator);
};
}  // namespace in_order

namespace detail {
/// What a fraction's numbers are divided by, so that no number divides both and the lower one is above zero; 1 where
/// that cannot be.
constexpr std::intmax_t common_factor(std::intmax_t numerator, std::intmax_t denominator) {
  constexpr std::intmax_t least = (std::numeric_limits<std::intmax_t>::min)();
  if (denominator == 0 || numerator == least || denominator == least) return 1;
  return denominator < 0 ? -std::gcd(numerator, denominator) : std::gcd(numerator, denominator);
}
}  // namespace detail

/// A fraction inside a type: `Dropout<Ratio<1, 10>>`, `Clip<Norm<Ratio<1>>>`. (clang 14 has no floating
/// template arguments.)
///
///   value     Numerator / Denominator, rounded once to fp64
///
/// Ratio<2, 8> is Ratio<1, 4>, so equal fractions make equal types of what takes them: docs/why/identity.md.
/// A denominator of zero is refused by the policy or the layer that holds the ratio.
template <std::intmax_t Numerator, std::intmax_t Denominator = 1>
using Ratio = in_order::Ratio<Numerator / detail::common_factor(Numerator, Denominator),
                              Denominator / detail::common_factor(Numerator, Denominator)>;

template <class T>
inline constexpr bool is_ratio = false;
template <std::intmax_t Numerator, std::intmax_t Denominator>
inline constexpr bool is_ratio<in_order::Ratio<Numerator, Denominator>> = true;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
