// regimen/rule/final_output_at_least_fp32.hpp — the last output, which softmax and loss read, is at least fp32.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/policy/policy.hpp>

namespace regimen::rule {

/// 16-bit logits have lost digits that softmax and the loss need.
/// T: the element type of the last layer's output.   docs/errors/precision.md#final_output_at_least_fp32
template <class T>
struct final_output_at_least_fp32 {
  static constexpr bool holds = !detail::is_any_of<T, bf16, fp16>;
  struct must_hold {
    static_assert(holds, "regimen: As<T, ...> narrows the output of this model below fp32; take it off the last layer");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
