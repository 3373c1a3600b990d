// regimen/policy/loss.hpp — what is minimised.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

struct CrossEntropy;  // regimen/loss/cross_entropy.hpp, the default

/// Decides the loss: a sum over the valid targets and their count.
///
///   choices   any loss; ours stand in regimen/loss
///   default   Loss<CrossEntropy>
///   refuses   an option of another policy; a loss that cannot read the model's output
template <class Function> struct Loss final {
  using axis = regimen::axis::loss;
  using function = Function;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
