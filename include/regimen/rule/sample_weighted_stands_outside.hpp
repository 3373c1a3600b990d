// regimen/rule/sample_weighted_stands_outside.hpp — SampleWeighted stands in Loss or Summed.
#pragma once

namespace regimen::rule {

/// Stands: whether it is the loss itself. SumOf divides each of its losses by samples, not by their weights.
/// docs/errors/losses.md#sample_weighted_stands_outside
template <class Function, bool Stands = false>
struct sample_weighted_stands_outside {
  static constexpr bool holds = Stands;
  struct must_hold {
    static_assert(
        holds,
        "regimen: SampleWeighted<...> stands directly in Loss<...> or Summed<...>; in SumOf write Weighted<Loss, Ratio>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
