// regimen/rule/tied_layers_share_a_type.hpp — a shared table has one element type.
#pragma once

namespace regimen::rule {

/// The table is stored once, in the type in which its layers compute.   docs/errors/weights.md#tied_layers_share_a_type
template <class Table, bool Shares>
struct tied_layers_share_a_type {
  static constexpr bool holds = Shares;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an Embedding and its TiedLinear compute in one type; write both inside As<T, ...>, or neither");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
