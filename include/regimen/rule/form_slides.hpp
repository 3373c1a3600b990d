// regimen/rule/form_slides.hpp — on a GPU only Attention<Tiled> has a sliding window.
#pragma once

namespace regimen::rule {

/// Layer has a SlidingWindow, which Attention, the form, does not take.   docs/errors/form_slides.md
template <class Layer, class Attention, bool Takes>
struct form_slides {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(holds, "regimen: on a GPU SlidingWindow has one form, Attention<Tiled>; add that policy");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
