// regimen/rule/loss_is_whole.hpp — a loss has rows and run.
#pragma once

namespace regimen::rule {

/// Whole: whether it has rows and run for this output.   docs/errors/extensions.md#loss_is_whole
template <class Loss, class Output, bool Whole = false>
struct loss_is_whole {
  static constexpr bool holds = Whole;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a loss has rows<Output> and run<gradient, Output>(engine, output, target, scalars, scale); give it both");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
