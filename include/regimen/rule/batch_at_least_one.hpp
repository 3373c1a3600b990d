// regimen/rule/batch_at_least_one.hpp — a batch has at least one sample.
#pragma once

#include <regimen/policy/batch.hpp>

#include <cstddef>

#include <type_traits>

namespace regimen::rule {

/// A batch without samples has no loss.   docs/errors/steps.md#batch_at_least_one
template <class Batch>
struct batch_at_least_one;

template <auto N>
struct batch_at_least_one<Batch<N>> {
  static constexpr bool holds = [] {
    if constexpr (std::is_same_v<decltype(N), BatchSize>) return true;
    else if constexpr (std::is_integral_v<decltype(N)> && !std::is_same_v<decltype(N), bool>) return N >= 1;
    else return false;
  }();
  struct must_hold {
    static_assert(holds, "regimen: Batch<N> needs N >= 1; write Batch<32>, or Batch<Largest> with a Target");
  };
};

template <std::size_t N>
struct batch_at_least_one<GlobalBatch<N>> {
  static constexpr bool holds = N >= 1;
  struct must_hold {
    static_assert(holds, "regimen: GlobalBatch<N> needs N >= 1; a global batch of zero samples trains nothing");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
