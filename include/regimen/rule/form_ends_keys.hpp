// regimen/rule/form_ends_keys.hpp — on a GPU only Attention<Tiled> ends where a text does.
#pragma once

namespace regimen::rule {

/// Layer has a Within, which Attention, the form, does not take.   docs/errors/form_ends_keys.md
template <class Layer, class Attention, bool Takes>
struct form_ends_keys {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(holds, "regimen: on a GPU Within<...> has one form, Attention<Tiled>; add that policy");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
