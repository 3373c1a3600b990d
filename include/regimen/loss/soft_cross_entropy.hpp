// regimen/loss/soft_cross_entropy.hpp — cross-entropy with a distribution over the classes as the target.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

namespace detail {

/// masked: a row whose first target is NaN does not count.
template <bool masked_>
struct SoftCrossEntropyOf : LossOfNumbers {
  static constexpr bool takes_weights = true;
  template <class Output>
  static constexpr bool accepts = Number<typename Output::Element> && Output::columns >= 2;
  template <class Output>
  static constexpr std::size_t rows = Output::rows;  // per sample; the loss is their mean

  template <bool gradient, class Output>
  static constexpr void run(auto& walk, std::size_t output, std::size_t target, View<Scalars> scalars, double scale,
                            View<float> weight = {}) {
    using S = typename Output::Element;
    walk.run(op::SoftCrossEntropy<gradient, S, regimen::detail::left_by_loss<gradient, Output>>{
        .logits = {output},
        .target = {target},
        .scalars = scalars,
        .rows = walk.batch * Output::rows,
        .columns = Output::columns,
        .scale = scale,
        .leading = Output::leading,
        .masked = masked_,
        .weight = weight});
  }
};

}  // namespace detail

/// −Σ_v target_v log softmax(x)_v per row, averaged over all rows of the global batch: for mixup, CutMix, distillation
///
///   x (B,...,V) the model's output, at least fp32; overwritten by its gradient, never stored twice
///   target: the shape and type of x, a distribution over V classes for each row of x. A row need not sum to 1: the
///   gradient is (Σ_v target_v) · softmax(x) − target. A target of 0 adds 0, also for a logit of −∞. A row of zeros
///   adds nothing to loss and gradient; it counts as a row
///
/// refuses  an output of one column; Softmax, Sigmoid or Relu as the last layer
/// source   Zhang et al. 2018, "mixup: Beyond Empirical Risk Minimization"; Hinton et al. 2015, for distillation
struct SoftCrossEntropy final : detail::SoftCrossEntropyOf<false> {
  using masked = detail::SoftCrossEntropyOf<true>;
};

namespace detail {
template <>
inline constexpr bool takes_padded_rows<SoftCrossEntropy> = true;
template <>
inline constexpr bool takes_padded_rows<Masked<SoftCrossEntropy>> = true;
}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
