// regimen/rule/loss_accepts_output.hpp — the loss can read the output and its labels.
#pragma once

namespace regimen::rule {

/// CrossEntropy takes the logits of two classes or more, MeanSquaredError any numbers. Accepts: what the loss declares.
/// docs/errors/losses.md#loss_accepts_output
template <class Loss, class Output, bool Accepts = false>
struct loss_accepts_output {
  static constexpr bool holds = Accepts;
  struct must_hold {
    static_assert(holds,
                  "regimen: this loss does not read such an output; write another Loss<...>, or another last layer");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
