// regimen/rule/within_looks_ahead.hpp — where later positions are hidden, so is the padding behind a text.
#pragma once

namespace regimen::rule {

/// Looks: whether Attention is not Causal, or has no Within.   docs/errors/texts.md#within_looks_ahead
template <class Attention, bool Looks>
struct within_looks_ahead {
  static constexpr bool holds = Looks;
  struct must_hold {
    static_assert(holds, "regimen: Causal hides all that comes later, padding too; leave out Within<...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
