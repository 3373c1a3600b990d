// regimen/optimizer/sgd.hpp — stochastic gradient descent with momentum.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/misnamed.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/optimizer/range.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace regimen {

/// g ← g + λ w
/// u ← μ u + g
/// w ← w − lr · u,   with nesterov   w ← w − lr · (g + μ u)
///
/// learning_rate  per step, >= 0; the step's own rate comes from the schedule
/// momentum       μ in [0, 1); 0 is plain descent and keeps the state array, too
/// nesterov       looks ahead by one step; no effect if μ = 0
/// weight_decay   λ >= 0, an L2 penalty λ/2·w² of the parameters that the Optimizer chooses
/// source         Sutskever, Martens, Dahl, Hinton 2013, eq. 1-4, in the form of PyTorch: lr stands outside of u
struct Sgd final {
  struct Options {
    double learning_rate = 1e-2;
    [[no_unique_address]] detail::Misnamed<misnamed::learning_rate> lr{};
    double momentum = 0, weight_decay = 0;
    bool nesterov = false;
  };
  static constexpr std::size_t states = 1;
  static constexpr std::array<const char*, 1> state_names{"momentum"};

  /// Throws Error when an option lies outside its range.
  template <class Master>
  static void check(const Options& options) {
    detail::in_unit_range("optimizer.momentum", options.momentum);
    detail::at_least_zero("optimizer.weight_decay", options.weight_decay);
  }
  static void list(const Options& options, const auto& f) {
    f("momentum", options.momentum), f("weight_decay", options.weight_decay), f("nesterov", options.nesterov);
  }

  REGIMEN_HD static double correction_first(const Options&, std::uint64_t) { return 1; }
  REGIMEN_HD static double correction_second(const Options&, std::uint64_t) { return 1; }

  /// The coefficients that all elements share, rounded to S once.
  template <class S>
  struct Coefficients {
    S decay, momentum, rate;
    bool nesterov;

    REGIMEN_HD explicit Coefficients(const Options& o, const Scalars& s)
        : decay(static_cast<S>(o.weight_decay)),
          momentum(static_cast<S>(o.momentum)),
          rate(static_cast<S>(s.learning_rate)),
          nesterov(o.nesterov) {}
  };

  /// Updates one element (V = S) or a register of elements. The gradient is divided, unscaled and clipped.
  REGIMEN_HD_UNCHECKED
  template <class V, class S>
  REGIMEN_HD static void update(V& weight, V gradient, V (&state)[1], const Coefficients<S>& c, bool decays) {
    if (decays) gradient = gradient + weight * c.decay;
    state[0] = state[0] * c.momentum + gradient;
    if (c.nesterov) weight = weight - (gradient + state[0] * c.momentum) * c.rate;
    else weight = weight - state[0] * c.rate;
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
