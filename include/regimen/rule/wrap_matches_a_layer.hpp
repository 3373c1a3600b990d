// regimen/rule/wrap_matches_a_layer.hpp — a predicate finds the layers that it is meant for.
#pragma once

#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// A predicate that is true of nothing would make the whole model one unit, which is gathered at once. Found: is it true of any child with weights,
/// or block of a Repeat?   docs/errors/wrap_matches_a_layer.md
template <class Wrap, bool Found = false>
struct wrap_matches_a_layer {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(holds,
                  "regimen: WrapIf<P> is true of no layer with weights; P<Layer> is asked of the model's children, and of Repeat<N, B> with B");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
