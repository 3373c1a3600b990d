// regimen/rule/selected_output_is_not_read.hpp — Selective names no layer whose backward reads its own output.
#pragma once

namespace regimen::rule {

/// Such an output is saved, so there is nothing to compute again.
/// docs/errors/checkpointing.md#selected_output_is_not_read
template <class Layer, bool Reads = true>
struct selected_output_is_not_read {
  static constexpr bool holds = !Reads;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Selective<...> names a layer whose backward reads its own output, which is kept; leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
