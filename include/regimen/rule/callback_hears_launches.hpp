// regimen/rule/callback_hears_launches.hpp — under Steps<K> callbacks take the results of a launch.
#pragma once

namespace regimen::rule {

/// A callback of one result would be called once for K steps, and count them as one.
/// docs/errors/fit.md#callback_hears_launches
template <class Callback, class Steps, bool hears>
struct callback_hears_launches {
  static constexpr bool holds = hears;
  struct must_hold {
    static_assert(
        holds,
        "regimen: under Steps<K> fit calls after K steps; write a callback of (auto& trainer, std::span<const StepResult>)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
