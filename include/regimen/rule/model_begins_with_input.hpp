// regimen/rule/model_begins_with_input.hpp — a model begins with its Input.
#pragma once

namespace regimen::rule {

/// Model<Linear<7>> and Model<Vector<8>, Linear<7>> do not say what a sample is.
/// docs/errors/models.md#model_begins_with_input
template <class Network, bool Begins = false>
struct model_begins_with_input {
  static constexpr bool holds = Begins;
  struct must_hold {
    static_assert(holds, "regimen: a model begins with its input; write Model<Input<...>, Layers...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
