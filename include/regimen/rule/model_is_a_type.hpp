// regimen/rule/model_is_a_type.hpp — a model is a type, not a value.
#pragma once

namespace regimen::rule {

/// A Trainer holds the weights; an object of the model type has none.   docs/errors/models.md#model_is_a_type
template <class Model, bool Taken = false>
struct model_is_a_type {
  static constexpr bool holds = Taken;
  struct must_hold {
    static_assert(holds, "regimen: a model is a type, and a Trainer holds its weights; write Trainer<Model> trainer");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
