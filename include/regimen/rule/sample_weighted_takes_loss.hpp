// regimen/rule/sample_weighted_takes_loss.hpp — SampleWeighted is of a loss that takes weights.
#pragma once

namespace regimen::rule {

/// Takes: whether the loss weighs its targets.   docs/errors/losses.md#sample_weighted_takes_loss
template <class Function, bool Takes>
struct sample_weighted_takes_loss {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(
        holds,
        "regimen: SampleWeighted<...> takes a loss of single targets, such as CrossEntropy; write one, or leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
