// regimen/rule/generate_needs_logits.hpp — generate needs one row of logits for each token.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Predicts: whether Model maps Tokens<T> to (T,V).   docs/errors/texts.md#generate_needs_logits
template <class Model, bool Predicts>
struct generate_needs_logits {
  static constexpr bool holds = Predicts;
  struct must_hold {
    static_assert(
        holds,
        "regimen: generate needs a model from Tokens<T> to (T,V), one row of logits for each token; call predict");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
