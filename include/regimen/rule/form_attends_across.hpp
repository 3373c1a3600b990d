// regimen/rule/form_attends_across.hpp — cuDNN has not been asked for keys of another text.
#pragma once

namespace regimen::rule {

/// Layer is of a CrossAttention, which Attention, the form, does not take.   docs/errors/devices.md#form_attends_across
template <class Layer, class Attention, bool Takes>
struct form_attends_across {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(
        holds, "regimen: Attention<Cudnn> has no keys of another text; write Attention<Composed> or Attention<Tiled>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
