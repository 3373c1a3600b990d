// regimen/policy/init.hpp — the weights before the first step.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

/// Each layer's own initialisation, as its header states it. Weights of products, convolutions, recurrent layers and
/// norms begin as in PyTorch. Three things differ:
///
///                                         Init<Default>            Init<PyTorch>
///   biases of products and convolutions   0                        uniform in ±1/√fan-in
///   tables of embeddings and positions    normal(0, 0.02)          normal(0, 1)
///   q, k and v of attention               uniform in ±1/√fan-in    uniform in ±√(6 / (fan-in + fan-out)), biases 0
struct Default final : detail::OptionOf<axis::init> {};

/// Decides the initial weights.
///
///   choices   Init<Default>, Init<PyTorch>, Init<Gpt2>, any scheme with `using option_of = regimen::axis::init;`
///   default   Init<Default>
///   refuses   an option of another policy
///   effect    programs/initial.hpp (init), trainers/weights.hpp (scheme)
template <class Scheme>
struct Init final {
  using axis = regimen::axis::init;
  using scheme = Scheme;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
