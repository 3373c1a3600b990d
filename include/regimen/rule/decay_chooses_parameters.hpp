// regimen/rule/decay_chooses_parameters.hpp — the second option of Optimizer says what decays.
#pragma once

namespace regimen::rule {

/// Chooses: whether it has decays<Layer>(parameter).   docs/errors/options.md#decay_chooses_parameters
template <class Option, bool Chooses = false>
struct decay_chooses_parameters {
  static constexpr bool holds = Chooses;
  struct must_hold {
    static_assert(
        holds,
        "regimen: the second option of Optimizer<...> says what decays; name DecayAll, or leave it out for products alone");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
