// regimen/rule/form_adds_distances.hpp — cuDNN has not been asked to add to scores by distance.
#pragma once

namespace regimen::rule {

/// Layer has Alibi or RelativeBias, which Attention, the form, does not take.
/// docs/errors/devices.md#form_adds_distances
template <class Layer, class Attention, bool Takes>
struct form_adds_distances {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Attention<Cudnn> has no Alibi and RelativeBias; write Attention<Composed> or Attention<Tiled>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
