// regimen/loss/masked.hpp — a loss some of whose targets are absent.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/policy.hpp>

namespace regimen {

/// A loss whose targets are numbers, without those that are NaN: they add nothing to loss, count and gradient, whatever
/// the output is there, NaN included. What ignore_index is to CrossEntropy, no_target<float> is to
///
///   Masked<MeanSquaredError>, Masked<Huber<Ratio<1, 2>>>, Masked<BinaryCrossEntropy>     element by element
///   Masked<SoftCrossEntropy>                                                            rows whose first target is NaN
///
///   if (!mask[i]) targets[i] = no_target<float>;      // for both kinds: no_target<std::int32_t> is ignore_index
///
/// The mask is part of the targets: it needs no memory of its own, and travels with them. The mean is over what counts in
/// the whole global batch, so micro-batches and ranks with other numbers of targets add up. In SumOf, as there,
/// an absent target counts in the divisor.
///
///   a loss of a program's own   has `using masked = ...`, the loss that leaves those targets out
///
/// cost     an absent row of SoftCrossEntropy, as an ignored one of CrossEntropy, only writes zeros: that is less than
///          gathering the others would cost, so there is no form that does
/// refuses  a loss without such a form: CrossEntropy, SmoothedCrossEntropy and NtXent leave out ignore_index by themselves
template <class Function>
struct Masked final {  // that has no such form: rule masked_takes_loss
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<typename Output::Element, typename Output::Shape>;
};
template <class Function>
  requires requires { typename Function::masked; }
struct Masked<Function> final : Function::masked {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
