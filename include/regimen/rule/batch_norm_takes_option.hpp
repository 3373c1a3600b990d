// regimen/rule/batch_norm_takes_option.hpp — no option of BatchNorm is ignored.
#pragma once

namespace regimen::rule {

/// Holds: whether Option is one of BatchNorm's, or, of a BatchNorm, whether it has each at most once.
/// docs/errors/norms.md#batch_norm_takes_option
template <class Option, bool Holds>
struct batch_norm_takes_option {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: BatchNorm takes Epsilon, Momentum, PerMicroBatch, OverRanks, AfterBias, each at most once; write no other");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
