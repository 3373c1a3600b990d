// regimen/rule/target_computes_in.hpp — the target computes in the recipe's element type.
#pragma once

namespace regimen::rule {

/// A TPU has neither fp16 nor fp64: the plan would describe an impossible run.   docs/errors/target_computes_in.md
template <class Target, class Compute>
struct target_computes_in {
  static constexpr bool holds = Target::description::template supports<Compute>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this target does not compute in this element type; write Precision<bf16, fp32>, or another Target");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
