// regimen/policy/clip.hpp — a bound on the gradients of a step.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

/// Bounds the Euclidean norm of all gradients of the step: the gradients of the loss, without the loss scale.
template <class Bound>
struct Norm final : detail::OptionOf<axis::clip> {
  using bound = Bound;
};

/// Decides whether gradients are scaled down to a bound: g ← g · min(1, bound / ‖g‖).
///
///   choices   Clip<None>, Clip<Norm<Ratio<1>>>
///   default   Clip<None>
///   refuses   a bound that is not above zero: every gradient would vanish
///   cost      one read of the gradients, for the norm; the optimizer's pass also scales them
///   effect    programs/recipe.hpp (clips), core/step_decisions.hpp (clip)
///
///   clips     whether there is a bound
///   bound     the bound as a float; 0 for None
template <class Kind>
struct Clip final {
  using axis = regimen::axis::clip;
  static constexpr bool clips = true;
  static constexpr float bound = static_cast<float>(Kind::bound::value);
};

template <>
struct Clip<None> final {
  using axis = regimen::axis::clip;
  static constexpr bool clips = false;
  static constexpr float bound = 0.0f;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
