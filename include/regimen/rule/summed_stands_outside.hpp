// regimen/rule/summed_stands_outside.hpp — Summed stands in Loss alone.
#pragma once

namespace regimen::rule {

/// Stands: whether it is the loss itself. In SumOf and Masked a loss is divided with the others, by what counts.
/// docs/errors/losses.md#summed_stands_outside
template <class Function, bool Stands = false>
struct summed_stands_outside {
  static constexpr bool holds = Stands;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Summed<...> stands directly in Loss<...>; write Loss<Summed<SumOf<...>>>, or Weighted<...> inside");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
