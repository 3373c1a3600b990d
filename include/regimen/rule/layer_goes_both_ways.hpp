// regimen/rule/layer_goes_both_ways.hpp — a layer has forward and backward.
#pragma once

namespace regimen::rule {

/// Whole: whether its Bound has an Output and both passes.   docs/errors/extensions.md#layer_goes_both_ways
template <class Layer, bool Whole = false>
struct layer_goes_both_ways {
  static constexpr bool holds = Whole;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a layer's Bound<X, Roles> has Output, forward(engine, call) and backward(engine, call); give it all three");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
