// regimen/rule/form_attends_across.hpp — on a GPU only Attention<Tiled> has keys of another text.
#pragma once

namespace regimen::rule {

/// Layer is of a CrossAttention, which Attention, the form, does not take.   docs/errors/form_attends_across.md
template <class Layer, class Attention, bool Takes>
struct form_attends_across {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(holds, "regimen: on a GPU CrossAttention has one form, Attention<Tiled>; add that policy");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
