// regimen/loss/masked.hpp — a loss with absent targets.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/policy/loss.hpp>

namespace regimen {

/// A loss of numbers that leaves out targets of NaN: they add nothing to loss, count and gradient, for any output, also
/// NaN. As ignore_index marks an absent target of CrossEntropy, no_target<float> marks one of
///
///   Masked<MeanSquaredError>, Masked<Huber<Ratio<1, 2>>>, Masked<BinaryCrossEntropy>     element by element
///   Masked<SoftCrossEntropy>                                                            rows whose first target is NaN
///
///   if (!mask[i]) targets[i] = no_target<float>;      // for both kinds: no_target<std::int32_t> is ignore_index
///
/// The mask is part of the targets, and needs no other memory. The mean is over the valid targets of the whole global
/// batch: micro-batches and ranks may have different numbers of them. In SumOf an absent target counts in the divisor.
///
///   a loss of your own   has `using masked = ...`, the loss that leaves these targets out
///
/// cost     an absent row of SoftCrossEntropy, like an ignored row of CrossEntropy, only writes zeros, which costs less
///          than gathering the other rows
/// refuses  a loss without such a form: CrossEntropy, SmoothedCrossEntropy and NtXent leave out ignore_index by
///          themselves
template <class Function>
struct Masked final : detail::LossOfNumbers {};  // that has no such form: rule masked_takes_loss
template <class Function>
  requires requires { typename Function::masked; }
struct Masked<Function> final : Function::masked {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
