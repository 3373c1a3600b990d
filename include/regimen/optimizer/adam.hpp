// regimen/optimizer/adam.hpp — Adam, with weight decay added to the gradient.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/misnamed.hpp>
#include <regimen/optimizer/moments.hpp>

namespace regimen {

/// g ← g + λ w
/// m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²
/// w ← w − lr · m̂ / (√v̂ + ε),   m̂ = m / (1 − β₁ᵗ),  v̂ = v / (1 − β₂ᵗ)
///
/// learning_rate  per step, >= 0; the step's own rate comes from the schedule
/// beta1, beta2   in [0, 1): 1/(1 − β) is the memory in steps
/// epsilon        > 0, in units of the gradient
/// weight_decay   λ >= 0, an L2 penalty λ/2·w² of the parameters that the Optimizer chooses. (AdamW decays weights
///                independently of v.)
/// source         Kingma, Ba 2015, algorithm 1
struct Adam final : detail::Moments {
  struct Options {
    double learning_rate = 1e-3;
    [[no_unique_address]] detail::Misnamed<misnamed::learning_rate> lr{};
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    [[no_unique_address]] detail::Misnamed<misnamed::moments> betas{};
    [[no_unique_address]] detail::Misnamed<misnamed::moments, 1> beta_1{};
    [[no_unique_address]] detail::Misnamed<misnamed::moments, 2> beta_2{};
    [[no_unique_address]] detail::Misnamed<misnamed::moments, 3> eps{};
    double weight_decay = 0;
  };

  template <class S>
  struct Coefficients : detail::Moments::Coefficients<S> {
    REGIMEN_HD explicit Coefficients(const Options& o, const Scalars& s)
        : detail::Moments::Coefficients<S>(o, s, o.weight_decay) {}
  };

  /// Updates one element (V = S) or a register of elements. The gradient is divided, unscaled and clipped.
  REGIMEN_HD_UNCHECKED
  template <class V, class S>
  REGIMEN_HD static void update(V& weight, V gradient, V (&state)[2], const Coefficients<S>& c, bool decays) {
    if (decays) gradient = gradient + weight * c.decay;
    descend(weight, gradient, state, c);
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
