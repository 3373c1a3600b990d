// regimen/rule/fraction_is_a_ratio.hpp — fractions in types are regimen::Ratio.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// std::ratio has members of other names.   docs/errors/layers.md#fraction_is_a_ratio
template <class Fraction>
struct fraction_is_a_ratio {
  static constexpr bool holds = is_ratio<Fraction>;
  struct must_hold {
    static_assert(holds, "regimen: this fraction is no regimen::Ratio; write Ratio<1, 10> for a tenth");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
