// regimen/policy/init.hpp — the weights before the first step.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

/// Each layer's own initialisation, as its header states it.
struct Default final {
  using option_of = regimen::axis::init;
};

/// Decides the initial weights.
///
///   choices   Init<Default>, Init<Gpt2>, any scheme with `using option_of = regimen::axis::init;`
///   default   Init<Default>
///   refuses   an option of another policy
template <class Scheme>
struct Init final {
  using axis = regimen::axis::init;
  using scheme = Scheme;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
