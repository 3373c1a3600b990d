// regimen/optimizer/rmsprop.hpp — gradient descent, divided by a running root mean square of the gradient.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/misnamed.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/optimizer/range.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace regimen {

/// g ← g + λ w
/// v ← α v + (1 − α) g²
/// u ← μ u + g / (√v + ε)
/// w ← w − lr · u
///
/// learning_rate  per step, >= 0; the step's own rate comes from the schedule
/// alpha          in [0, 1): 1/(1 − α) is the memory in steps
/// epsilon        > 0, in units of the gradient, added to the root
/// momentum       μ in [0, 1); 0 keeps the state array, too
/// weight_decay   λ >= 0, an L2 penalty λ/2·w² of the parameters that the Optimizer chooses
/// source         Tieleman, Hinton 2012, lecture 6.5; momentum and the place of ε as in PyTorch; not centered
struct RmsProp final {
  struct Options {
    double learning_rate = 1e-2;
    [[no_unique_address]] detail::Misnamed<misnamed::learning_rate> lr{};
    double alpha = 0.99, epsilon = 1e-8, momentum = 0;
    [[no_unique_address]] detail::Misnamed<misnamed::moments> rho{};
    [[no_unique_address]] detail::Misnamed<misnamed::moments, 1> eps{};
    double weight_decay = 0;
  };
  static constexpr std::size_t states = 2;
  static constexpr std::array<const char*, 2> state_names{"second_moment", "momentum"};

  /// Throws Error when an option lies outside its range.
  template <class Master>
  static void check(const Options& options) {
    detail::in_unit_range("optimizer.alpha", options.alpha);
    detail::above_zero<Master>("optimizer.epsilon", options.epsilon);
    detail::in_unit_range("optimizer.momentum", options.momentum);
    detail::at_least_zero("optimizer.weight_decay", options.weight_decay);
  }
  static void list(const Options& options, const auto& f) {
    f("alpha", options.alpha), f("epsilon", options.epsilon), f("momentum", options.momentum),
        f("weight_decay", options.weight_decay);
  }

  REGIMEN_HD static double correction_first(const Options&, std::uint64_t) { return 1; }
  REGIMEN_HD static double correction_second(const Options&, std::uint64_t) { return 1; }

  /// The coefficients that all elements share, rounded to S once.
  template <class S>
  struct Coefficients {
    S decay, alpha, one_minus_alpha, epsilon, momentum, rate;

    REGIMEN_HD explicit Coefficients(const Options& o, const Scalars& s)
        : decay(static_cast<S>(o.weight_decay)),
          alpha(static_cast<S>(o.alpha)),
          one_minus_alpha(static_cast<S>(1 - o.alpha)),
          epsilon(static_cast<S>(o.epsilon)),
          momentum(static_cast<S>(o.momentum)),
          rate(static_cast<S>(s.learning_rate)) {}
  };

  /// Updates one element (V = S) or a register of elements. The gradient is divided, unscaled and clipped.
  REGIMEN_HD_UNCHECKED
  template <class V, class S>
  REGIMEN_HD static void update(V& weight, V gradient, V (&state)[2], const Coefficients<S>& c, bool decays) {
    using std::sqrt;
    if (decays) gradient = gradient + weight * c.decay;
    state[0] = state[0] * c.alpha + gradient * gradient * c.one_minus_alpha;
    state[1] = state[1] * c.momentum + gradient / (sqrt(state[0]) + c.epsilon);
    weight = weight - state[1] * c.rate;
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
