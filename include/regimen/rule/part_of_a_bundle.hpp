// regimen/rule/part_of_a_bundle.hpp — Part chooses a value of a Bundle.
#pragma once

namespace regimen::rule {

/// Bundled: whether Input's samples are bundles.   docs/errors/branches.md#part_of_a_bundle
template <class Input, class Layer, bool Bundled = false>
struct part_of_a_bundle {
  static constexpr bool holds = Bundled;
  struct must_hold {
    static_assert(holds, "regimen: Part<I> is a value of a Bundle; write Input<Bundle<...>>, or leave Part out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
