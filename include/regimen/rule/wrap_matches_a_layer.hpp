// regimen/rule/wrap_matches_a_layer.hpp — the predicate of WrapIf is true of a layer.
#pragma once

#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// A predicate that is true of no layer would make the whole model one unit, gathered at
/// once. Found: whether it is true of
/// a child with weights, or of the block of a Repeat.   docs/errors/ranks.md#wrap_matches_a_layer
template <class Wrap, bool Found = false>
struct wrap_matches_a_layer {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(
        holds,
        "regimen: WrapIf<P> is true of no layer with weights; P<Layer> is asked of the model's children, and of Repeat<N, B> with B");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
