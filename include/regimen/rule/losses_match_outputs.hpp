// regimen/rule/losses_match_outputs.hpp — a loss for each output.
#pragma once

namespace regimen::rule {

/// Match: whether there are as many losses as outputs.   docs/errors/losses.md#losses_match_outputs
template <class Loss, class Output, bool Match = false>
struct losses_match_outputs {
  static constexpr bool holds = Match;
  struct must_hold {
    static_assert(
        holds,
        "regimen: SumOf has a loss for each branch of Fork<Outputs, ...>, the last layer; write as many of both");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
