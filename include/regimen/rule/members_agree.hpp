// regimen/rule/members_agree.hpp — the members of an ensemble predict the same thing.
#pragma once

namespace regimen::rule {

/// Outputs are averaged element by element, so members have one input type and shape, one output type and shape, and one
/// output.
/// docs/errors/inference.md#members_agree
template <class First, class Other, bool agree>
struct members_agree {
  static constexpr bool holds = agree;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an ensemble averages Inferences of one input shape and one output shape; end every model alike");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
