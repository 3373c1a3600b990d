// regimen/rule/form_shares_keys.hpp — only Attention<Tiled> has fewer key heads than heads.
#pragma once

namespace regimen::rule {

/// Layer has fewer key heads than heads, which Attention, the form, does not take.
/// docs/errors/devices.md#form_shares_keys
template <class Layer, class Attention, bool Takes>
struct form_shares_keys {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(holds,
                  "regimen: on a GPU attention shares keys in Attention<Tiled> alone; write that, or no KeyHeads<K>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
