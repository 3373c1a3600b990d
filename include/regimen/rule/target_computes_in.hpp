// regimen/rule/target_computes_in.hpp — the target computes in the recipe's element type.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// The type that a recipe for this target may compute in, if any: bf16, else fp32.
template <class Target>
using ComputedBy = std::conditional_t<Target::description::template supports<bf16>, bf16,
                                      std::conditional_t<Target::description::template supports<fp32>, fp32, void>>;

/// A TPU has neither fp16 nor fp64: the plan would describe an impossible run.
/// docs/errors/targets.md#target_computes_in
template <class Target, class Compute, class Instead = ComputedBy<Target>>
struct target_computes_in {
  static constexpr bool holds = Target::description::template supports<Compute>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this target does not compute in this element type; write Precision<bf16, fp32>, or another Target");
  };
};
template <class Target, class Compute>
struct target_computes_in<Target, Compute, fp32> {
  static constexpr bool holds = Target::description::template supports<Compute>;
  struct must_hold {
    static_assert(
        holds, "regimen: this target does not compute in this element type; write Precision<fp32>, or another Target");
  };
};
template <class Target, class Compute>
struct target_computes_in<Target, Compute, void> {
  static constexpr bool holds = Target::description::template supports<Compute>;
  struct must_hold {
    static_assert(holds, "regimen: this target computes in none of our element types; write another Target");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
