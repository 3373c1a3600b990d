// regimen/rule/generate_takes_source.hpp — generate reads both texts of a model of two.
#pragma once

namespace regimen::rule {

/// Told: whether Model reads one text.   docs/errors/texts.md#generate_takes_source
template <class Model, bool Told>
struct generate_takes_source {
  static constexpr bool holds = Told;
  struct must_hold {
    static_assert(
        holds, "regimen: this model generates a text from another one; write generate(model, source, prompt, count)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
