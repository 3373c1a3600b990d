// regimen/core/rules.hpp — rules that every room may ask: extents, and references to temporaries.
#pragma once

#include <regimen/core/ratio.hpp>

#include <cstddef>

namespace regimen::rule {

/// Of a rule that is named only where it is broken.
template <class... Named>
inline constexpr bool never = false;

template <class Rule, class... Others>
struct first_broken_among {
  using type = Rule;
};
template <class Rule, class Next, class... Others>
  requires(Rule::holds)
struct first_broken_among<Rule, Next, Others...> : first_broken_among<Next, Others...> {};
/// The first rule that is broken, else the last: each assumes that those before it hold.
template <class... Rules>
using first_broken = typename first_broken_among<Rules...>::type;

/// Whether Fraction is a Ratio above zero, and whether it is one of at least 0 and less than 1.
template <class Fraction>
inline constexpr bool is_above_zero = requires { requires is_ratio<Fraction> && (Fraction::value > 0); };
template <class Fraction>
inline constexpr bool is_share = requires {
  requires is_ratio<Fraction> && Fraction::denominator != 0 && Fraction::value >= 0 && Fraction::value < 1;
};

/// The reference would lead to memory that is gone at the end of the line.   docs/errors/fit.md#borrows_no_temporary
template <class Temporary>
struct borrows_no_temporary {
  static constexpr bool holds = never<Temporary>;
  struct must_hold {
    static_assert(holds, "regimen: what is returned refers to a temporary; give that a name, so that it lives as long");
  };
};

/// A layer without channels, heads or positions computes nothing.   docs/errors/shapes.md#extents_at_least_one
template <class Layer, std::size_t... Extents>
struct extents_at_least_one {
  static constexpr bool holds = ((Extents >= 1) && ...);
  struct must_hold {
    static_assert(holds, "regimen: this layer has an extent of zero; write extents of at least one");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
