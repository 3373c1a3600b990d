// regimen/optimizer/adamw.hpp — Adam with decoupled weight decay.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/operation.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace regimen {

/// w ← w − lr·λ·w
/// m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²
/// w ← w − lr · m̂ / (√v̂ + ε),   m̂ = m / (1 − β₁ᵗ),  v̂ = v / (1 − β₂ᵗ)
///
/// learning_rate  per step, >= 0; the step's own rate comes from the schedule
/// beta1, beta2   in [0, 1): 1/(1 − β) is the memory in steps
/// epsilon        > 0, in units of the gradient
/// weight_decay   λ >= 0, multiplies the learning rate; only where the parameter decays
/// source         Loshchilov, Hutter 2019, algorithm 2, with the schedule multiplying λ as in PyTorch
struct AdamW final {
  struct Options {
    double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01;
  };
  static constexpr std::size_t states = 2;
  static constexpr std::array<const char*, 2> state_names{"first_moment", "second_moment"};

  /// What the moments of update t = 1, 2, ... are multiplied by.
  static double correction_first(const Options& options, std::uint64_t t) { return 1 / (1 - std::pow(options.beta1, static_cast<double>(t))); }
  static double correction_second(const Options& options, std::uint64_t t) { return 1 / (1 - std::pow(options.beta2, static_cast<double>(t))); }

  /// Everything that is the same for all elements, rounded to S once.
  template <class S> struct Coefficients {
    S keep, beta1, one_minus_beta1, beta2, one_minus_beta2, step, correction_second, epsilon;

    REGIMEN_HD explicit Coefficients(const Options& o, const Scalars& s)
        : keep(static_cast<S>(1 - s.learning_rate * o.weight_decay)),
          beta1(static_cast<S>(o.beta1)),
          one_minus_beta1(static_cast<S>(1 - o.beta1)),
          beta2(static_cast<S>(o.beta2)),
          one_minus_beta2(static_cast<S>(1 - o.beta2)),
          step(static_cast<S>(s.learning_rate * s.correction_first)),
          correction_second(static_cast<S>(s.correction_second)),
          epsilon(static_cast<S>(o.epsilon)) {}
  };

  /// One element (V = S) or a register of them. The gradient is divided, unscaled and clipped.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // with a CPU register as V, and only then, it calls host functions
#endif
  template <class V, class S> REGIMEN_HD static void update(V& weight, V gradient, V (&state)[2], const Coefficients<S>& c, bool decays) {
    using std::sqrt;
    if (decays) weight = weight * c.keep;
    state[0] = state[0] * c.beta1 + gradient * c.one_minus_beta1;
    state[1] = state[1] * c.beta2 + gradient * gradient * c.one_minus_beta2;
    weight = weight - state[0] * c.step / (sqrt(state[1] * c.correction_second) + c.epsilon);
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
