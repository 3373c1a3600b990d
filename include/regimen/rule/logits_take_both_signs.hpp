// regimen/rule/logits_take_both_signs.hpp — no layer whose outputs are never below 0 before a loss of logits.
#pragma once

namespace regimen::rule {

/// Logits below 0 are what a loss asks for where a class is unlikely. Of Softmax and Sigmoid they also end at 1; of Relu the
/// gradient is 0 where a logit would be below 0.   docs/errors/losses.md#logits_take_both_signs
template <class Loss, class Last, bool Stands = false>
struct logits_take_both_signs {
  static constexpr bool holds = Stands;
  struct must_hold {
    static_assert(holds,
                  "regimen: this loss takes logits of both signs, and the last layer gives none below 0; leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
