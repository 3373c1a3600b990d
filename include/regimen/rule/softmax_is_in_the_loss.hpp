// regimen/rule/softmax_is_in_the_loss.hpp — no Softmax before a cross-entropy.
#pragma once

namespace regimen::rule {

/// A cross-entropy takes logits. Of the softmax of a softmax no class gets a probability above e / (e + V − 1), so that
/// the loss cannot come near 0, whatever is learned.   docs/errors/losses.md#softmax_is_in_the_loss
template <class Loss, class Last, bool Stands = false>
struct softmax_is_in_the_loss {
  static constexpr bool holds = Stands;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a cross-entropy takes logits, of which it computes the softmax itself; leave out the last Softmax");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
