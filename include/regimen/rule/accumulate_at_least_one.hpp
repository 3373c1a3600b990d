// regimen/rule/accumulate_at_least_one.hpp — a step has at least one micro-batch.
#pragma once

namespace regimen::rule {

/// A step without a micro-batch has no gradient.   docs/errors/steps.md#accumulate_at_least_one
template <class Accumulate>
struct accumulate_at_least_one {
  static constexpr bool holds = Accumulate::count >= 1;
  struct must_hold {
    static_assert(holds, "regimen: Accumulate<N> needs N >= 1; write Accumulate<1>, or leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
