// regimen/rule/masters_are_not_half.hpp — master weights are wider than 16 bits.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/policy/policy.hpp>

namespace regimen::rule {

/// An update below 2^-8 of a bf16 weight, or below 2^-11 of an fp16 weight, is rounded away.
/// docs/errors/precision.md#masters_are_not_half
template <class Precision>
struct masters_are_not_half {
  static constexpr bool holds = !detail::is_any_of<typename Precision::master, bf16, fp16>;
  struct must_hold {
    static_assert(
        holds, "regimen: Precision<bf16> and Precision<fp16> would keep 16-bit weights; write Precision<bf16, fp32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
