// regimen/policy/loss.hpp — what is minimised.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/policy/policy.hpp>

namespace regimen {

struct CrossEntropy;  // regimen/loss/cross_entropy.hpp, the default

namespace detail {
/// A loss says what it compares an output with.
template <class T>
inline constexpr bool belongs_to<T, axis::loss> = requires { typename T::template Labels<Value<fp32, Shape<2>>>; };
}  // namespace detail

/// Decides the loss: a sum over the valid targets and their count.
///
///   choices   any loss; ours stand in regimen/loss
///   default   Loss<CrossEntropy>
///   refuses   what is no loss; a loss that cannot read the model's output; one that couples the samples of a batch where Accumulate,
///             SimulateWorld or ranks would cut it
///
/// A loss has Labels<Output>, what it compares an output with; rows<Output>, how many targets a sample has; run<gradient, Output>(engine,
/// output, target, scalars, scale); and `static constexpr bool couples_samples`: does the loss of a sample depend on the others?
template <class Function>
struct Loss final {
  using axis = regimen::axis::loss;
  using function = Function;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
