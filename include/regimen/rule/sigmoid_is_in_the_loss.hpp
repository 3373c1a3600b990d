// regimen/rule/sigmoid_is_in_the_loss.hpp — no Sigmoid before BinaryCrossEntropy.
#pragma once

namespace regimen::rule {

/// BinaryCrossEntropy takes logits. The logistic function of a logistic function lies between 0.5 and 0.73.
/// docs/errors/losses.md#sigmoid_is_in_the_loss
template <class Loss, class Last, bool Stands = false>
struct sigmoid_is_in_the_loss {
  static constexpr bool holds = Stands;
  struct must_hold {
    static_assert(
        holds,
        "regimen: BinaryCrossEntropy takes logits, of which it computes the sigmoid itself; leave out the last Sigmoid");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
