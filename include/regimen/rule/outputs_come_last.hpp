// regimen/rule/outputs_come_last.hpp — Outputs ends a model.
#pragma once

namespace regimen::rule {

/// Last: whether no other place has one.   docs/errors/losses.md#outputs_come_last
template <class Network, bool Last = false>
struct outputs_come_last {
  static constexpr bool holds = Last;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Outputs joins what losses read; write Fork<Outputs, ...> once, as the last layer of the model");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
