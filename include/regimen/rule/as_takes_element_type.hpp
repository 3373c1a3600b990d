// regimen/rule/as_takes_element_type.hpp — the first argument of As is an element type.
#pragma once

#include <regimen/core/number.hpp>

namespace regimen::rule {

/// As<Linear<10>, fp32> has its arguments in the wrong order.   docs/errors/precision.md#as_takes_element_type
template <class T>
struct as_takes_element_type {
  static constexpr bool holds = ComputeType<T>;
  struct must_hold {
    static_assert(
        holds, "regimen: As<T, Layers...> computes in T; write fp64, fp32, tf32, bf16 or fp16 first, then the layers");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
