// regimen/rule/layers_of_takes_model.hpp — LayersOf and EncoderOf take a model apart, and nothing else.
#pragma once

#include <regimen/rule/model_comes_first.hpp>

namespace regimen::rule {

/// A layer, or an input, is no model.   docs/errors/networks.md#layers_of_takes_model
template <class Network>
struct layers_of_takes_model {
  static constexpr bool holds = detail::is_model<Network>;
  struct must_hold {
    static_assert(holds,
                  "regimen: LayersOf and EncoderOf take a Model<...>, or a struct that derives from one; give one");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
