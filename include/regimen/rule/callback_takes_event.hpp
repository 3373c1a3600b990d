// regimen/rule/callback_takes_event.hpp — every callback takes an event of fit.
#pragma once

namespace regimen::rule {

/// Called: whether the callback accepts (trainer, StepResult), or an Evaluation, EpochEvent or Fitted in its place.
/// docs/errors/fit.md#callback_takes_event
template <class Callback, bool Called>
struct callback_takes_event {
  static constexpr bool holds = Called;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit never calls this; write a callback of (auto& trainer, const StepResult&), or of const Evaluation&");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
