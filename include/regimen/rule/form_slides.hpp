// regimen/rule/form_slides.hpp — cuDNN has not been asked for a sliding window.
#pragma once

namespace regimen::rule {

/// Layer has a SlidingWindow, which Attention, the form, does not take.   docs/errors/devices.md#form_slides
template <class Layer, class Attention, bool Takes>
struct form_slides {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(holds,
                  "regimen: Attention<Cudnn> has no SlidingWindow; write Attention<Composed> or Attention<Tiled>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
