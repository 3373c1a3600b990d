// regimen/rule/form_ends_keys.hpp — cuDNN has not been asked for keys that end where a text does.
#pragma once

namespace regimen::rule {

/// Layer has a Within, which Attention, the form, does not take.   docs/errors/devices.md#form_ends_keys
template <class Layer, class Attention, bool Takes>
struct form_ends_keys {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(holds, "regimen: Attention<Cudnn> has no Within<...>; write Attention<Composed> or Attention<Tiled>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
