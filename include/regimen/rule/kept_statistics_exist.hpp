// regimen/rule/kept_statistics_exist.hpp — who keeps statistics has some.
#pragma once

namespace regimen::rule {

/// Frozen<KeepStatistics, Linear<8>> would change nothing.   docs/errors/weights.md#kept_statistics_exist
template <class Layer, bool Exist>
struct kept_statistics_exist {
  static constexpr bool holds = Exist;
  struct must_hold {
    static_assert(
        holds, "regimen: Frozen<KeepStatistics, ...> holds no layer with running statistics; leave KeepStatistics out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
