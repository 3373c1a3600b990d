// regimen/loss/cross_entropy.hpp — the loss of classification and of language models.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/ratio.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/policy.hpp>

#include <cstdint>

namespace regimen {

/// −Σ_v q_v log softmax(x)_v per row, averaged over all valid rows of the global batch
///
///   x (B,...,V) the model's output, at least fp32; overwritten by its gradient, never stored twice. On GPUs, under a
///   Precision of 16 bits, the gradient is stored in the 16-bit type of the products that read it
///   target (B,...) int32 in [0,V), or ignore_index (−100): the row adds nothing to loss, count and gradient, for any
///   logits. Use ignore_index as the mask
///   q = (1 − Smoothing) · onehot(target) + Smoothing / V
///   Smoothing: a Ratio in [0, 1)
///
/// refuses  an output of one column; a Smoothing outside its range; Softmax, Sigmoid or Relu as the last layer
/// failure  a target outside [0,V) is an Error when its batch is loaded; in a kernel it makes the loss NaN
/// source   Szegedy et al. 2016, section 7, for smoothing
template <class Smoothing>
struct SmoothedCrossEntropy {
  using option_of = axis::loss;
  using smoothing = Smoothing;
  static constexpr bool couples_samples = false, takes_weights = true;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<Output::rows>>;
  template <class Output>
  static constexpr bool accepts = Output::columns >= 2;  // the softmax of a single class is 1, and its loss 0
  template <class Output>
  static constexpr std::size_t rows = Output::rows;  // per sample; the loss is their mean

  /// Adds to scalars.loss_sum and count; with `gradient` turns the output at `output` into its gradient.
  template <bool gradient, class Output>
  static constexpr void run(auto& walk, std::size_t output, std::size_t target, View<Scalars> scalars, double scale,
                            View<float> weight = {}) {
    using S = typename Output::Element;
    walk.run(op::CrossEntropy<gradient, S, regimen::detail::left_by_loss<gradient, Output>>{
        .logits = {output},
        .target = {target},
        .scalars = scalars,
        .rows = walk.batch * Output::rows,
        .columns = Output::columns,
        .scale = scale,
        .smoothing = Smoothing::value,
        .leading = Output::leading,
        .weight = weight});
  }

  /// Adds the rows whose largest logit is the target's to scalars.correct.
  template <class Output>
  static constexpr void count_correct(auto& walk, std::size_t output, std::size_t target, View<Scalars> scalars,
                                      View<float> weight = {}) {
    walk.run(op::CountCorrect<typename Output::Element>{.logits = {output},
                                                        .target = {target},
                                                        .scalars = scalars,
                                                        .rows = walk.batch * Output::rows,
                                                        .columns = Output::columns,
                                                        .leading = Output::leading,
                                                        .weight = weight});
  }
};

/// SmoothedCrossEntropy without smoothing.
struct CrossEntropy final : SmoothedCrossEntropy<Ratio<0>> {};

namespace detail {
template <class Smoothing>
inline constexpr bool takes_padded_rows<SmoothedCrossEntropy<Smoothing>> = true;
template <>
inline constexpr bool takes_padded_rows<CrossEntropy> = true;
}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
