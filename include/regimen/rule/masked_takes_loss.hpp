// regimen/rule/masked_takes_loss.hpp — Masked is of a loss that has such a form.
#pragma once

namespace regimen::rule {

/// Has: whether the loss has a form without absent targets.   docs/errors/losses.md#masked_takes_loss
template <class Function, bool Has>
struct masked_takes_loss {
  static constexpr bool holds = Has;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Masked<...> takes a loss of numbers, such as MeanSquaredError; in CrossEntropy write ignore_index");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
