// regimen/policy/freeze.hpp — layers that do not train.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

/// Decides which layers keep their weights. The others train.
///
///   choices   Freeze<Layers...>: every layer of these types. To freeze one place of the model, write Frozen<Layers...>
///             there (layer/model.hpp)
///   default   Freeze<>, which freezes nothing
///   refuses   a layer that the model does not have, or a layer without weights outside of a Frozen
///   cost      frozen layers have no gradients and no optimizer state; backward ends at the first layer that trains
///   effect    walk/node.hpp (Freeze, freezes)
///
///   freezes<Layer>     whether Layer keeps its weights
template <class... Layers>
struct Freeze final {
  using axis = regimen::axis::freeze;
  template <class Layer>
  static constexpr bool freezes = detail::is_any_of<Layer, Layers...>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
