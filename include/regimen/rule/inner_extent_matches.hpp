// regimen/rule/inner_extent_matches.hpp — adjacent layers agree on the extent between them.
#pragma once

namespace regimen::rule {

/// For a layer that declares the extent it reads. Expected: the layer's shape, Found: its input's shape.
/// docs/errors/shapes.md#inner_extent_matches
template <class Expected, class Found>
struct inner_extent_matches {
  static constexpr bool holds = Expected::columns == Found::columns;
  struct must_hold {
    static_assert(holds, "regimen: this layer reads another extent than the one before it writes; make the two equal");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
