// regimen/optimizer/moments.hpp — the two moments of the gradient in Adam, AdamW and Lamb.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/optimizer/range.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace regimen::detail {

/// m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²
/// w ← w − lr · m̂ / (√v̂ + ε),   m̂ = m / (1 − β₁ᵗ),  v̂ = v / (1 − β₂ᵗ)
struct Moments {
  static constexpr std::size_t states = 2;
  static constexpr std::array<const char*, 2> state_names{"first_moment", "second_moment"};

  /// Throws Error when an option lies outside its range.
  template <class Master>
  static void check(const auto& options) {
    in_unit_range("optimizer.beta1", options.beta1);
    in_unit_range("optimizer.beta2", options.beta2);
    above_zero<Master>("optimizer.epsilon", options.epsilon);
    at_least_zero("optimizer.weight_decay", options.weight_decay);
  }
  /// f(name, value) of each option but the rate, as run.txt names them.
  static void list(const auto& options, const auto& f) {
    f("beta1", options.beta1), f("beta2", options.beta2);
    f("epsilon", options.epsilon), f("weight_decay", double(options.weight_decay));
  }

  /// The bias corrections of update t = 1, 2, ...: factors of the moments.
  REGIMEN_HD static double correction_first(const auto& options, std::uint64_t t) {
    return 1 / (1 - std::pow(options.beta1, static_cast<double>(t)));
  }
  REGIMEN_HD static double correction_second(const auto& options, std::uint64_t t) {
    return 1 / (1 - std::pow(options.beta2, static_cast<double>(t)));
  }

  /// The coefficients that all elements share, rounded to S once. `decay` multiplies the weight's own term.
  template <class S>
  struct Coefficients {
    S decay, beta1, one_minus_beta1, beta2, one_minus_beta2, step, correction_second, epsilon;

    REGIMEN_HD Coefficients(const auto& o, const Scalars& s, double decay_factor)
        : decay(static_cast<S>(decay_factor)),
          beta1(static_cast<S>(o.beta1)),
          one_minus_beta1(static_cast<S>(1 - o.beta1)),
          beta2(static_cast<S>(o.beta2)),
          one_minus_beta2(static_cast<S>(1 - o.beta2)),
          step(static_cast<S>(s.learning_rate * s.correction_first)),
          correction_second(static_cast<S>(s.correction_second)),
          epsilon(static_cast<S>(o.epsilon)) {}
  };

  /// lr · m̂ / (√v̂ + ε), of the new moments, for one element (V = S) or a register of them.
  REGIMEN_HD_UNCHECKED
  template <class V, class S>
  REGIMEN_HD static V step(V gradient, V (&state)[2], const Coefficients<S>& c) {
    using std::sqrt;
    state[0] = state[0] * c.beta1 + gradient * c.one_minus_beta1;
    state[1] = state[1] * c.beta2 + gradient * gradient * c.one_minus_beta2;
    return state[0] * c.step / (sqrt(state[1] * c.correction_second) + c.epsilon);
  }
  REGIMEN_HD_UNCHECKED
  template <class V, class S>
  REGIMEN_HD static void descend(V& weight, V gradient, V (&state)[2], const Coefficients<S>& c) {
    weight = weight - step(gradient, state, c);
  }
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
