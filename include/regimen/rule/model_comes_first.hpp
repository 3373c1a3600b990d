// regimen/rule/model_comes_first.hpp — the first argument of Trainer is the model.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen::rule {

/// Policies may stand in any order; the model stands before them.   docs/errors/model_comes_first.md
template <class Model> struct model_comes_first {
  static constexpr bool holds = !Policy<Model>;
  struct must_hold {
    static_assert(holds, "regimen: the model comes first; write Trainer<Model, Policies...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
