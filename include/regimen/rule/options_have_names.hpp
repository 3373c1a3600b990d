// regimen/rule/options_have_names.hpp — a Trainer takes options by name.
#pragma once

namespace regimen::rule {

/// A bare number could be any option; a model belongs into the type, Trainer<Model>.
/// docs/errors/run_options.md#options_have_names
template <class Given, bool Taken = false>
struct options_have_names {
  static constexpr bool holds = Taken;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a Trainer takes its options by name; write Train trainer{{.optimizer = {.learning_rate = 1e-3}}}");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
