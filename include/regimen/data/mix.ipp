// regimen/data/mix.ipp — the body of beta.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/mix.hpp>

#include <numbers>

namespace regimen::data::detail {

REGIMEN_INLINE double beta(Draws& draws, double alpha) {
  if (!(alpha > 0 && alpha <= 1e6))
    throw Error("mix, alpha", "a number above 0, at most 1000000", regimen::detail::digits_of(alpha));
  const auto gamma = [&](double a) {
    const double boost = a < 1 ? std::pow(1 - draws.unit(), 1 / a) : 1, d = (a < 1 ? a + 1 : a) - 1.0 / 3,
                 c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double radius = std::sqrt(-2 * std::log(1 - draws.unit()));
      const double x = radius * std::cos(2 * std::numbers::pi * draws.unit()), v = std::pow(1 + c * x, 3);
      if (v > 0 && std::log(1 - draws.unit()) < x * x / 2 + d - d * v + d * std::log(v)) return boost * d * v;
    }
  };
  const double a = gamma(alpha), b = gamma(alpha);
  return a + b > 0 ? a / (a + b) : draws.unit() < 0.5 ? 0 : 1;
}

}  // namespace regimen::data::detail
// SPDX-License-Identifier: Apache-2.0
