// regimen/rule/average_keeps_a_share.hpp — the decay of an average is at least 0 and below 1.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// With 1 an average would never move.   docs/errors/options.md#average_keeps_a_share
template <class Decay>
struct average_keeps_a_share {
  static constexpr bool holds = [] {
    if constexpr (is_ratio<Decay>) return Decay::denominator != 0 && Decay::value >= 0 && Decay::value < 1;
    else return false;
  }();
  struct must_hold {
    static_assert(
        holds,
        "regimen: Averaged<...> keeps a share of at least 0 and below 1; write Averaged<AdamW, Ratio<999, 1000>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
