// regimen/rule/model_begins_with_input.hpp — what a sample is stands before the layers that read it.
#pragma once

namespace regimen::rule {

/// Model<Linear<7>> and Model<Vector<8>, Linear<7>> say what computes, and not on what.   docs/errors/model_begins_with_input.md
template <class Network, bool Begins = false>
struct model_begins_with_input {
  static constexpr bool holds = Begins;
  struct must_hold {
    static_assert(holds, "regimen: a model begins with its input; write Model<Input<...>, Layers...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
