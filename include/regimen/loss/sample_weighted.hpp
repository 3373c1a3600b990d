// regimen/loss/sample_weighted.hpp — a loss with a weight for each target.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/bundled.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/policy.hpp>

#include <array>
#include <cstddef>

namespace regimen {

/// Σ w · loss of a target, divided by Σ |w|, over the valid targets of the global batch
///
///   SampleWeighted<CrossEntropy>          a weight for each row: each sample, or each token of a text
///   SampleWeighted<SoftCrossEntropy>      a weight for each row
///   SampleWeighted<MeanSquaredError>      a weight for each number
///
///   sample.target[0].get<0>()   the targets of the loss          sample.target[0].get<1>()   their weights, fp32
///
/// With all weights 1 it has the bits of the loss without weights. The mean is over the whole global batch:
/// micro-batches and ranks may have different weights. Summed<SampleWeighted<...>> is Σ w · loss. A weight of 0 leaves
/// the target out, for any output, as ignore_index and no_target do; if all weights are 0, no step is made. The
/// accuracy is the correct share of Σ |w|. For weights of classes give each sample the weight of its class, as
/// data::ClassWeights does. CrossEntropy is then PyTorch's CrossEntropyLoss(weight=...), except with smoothing: PyTorch
/// weights the smoothed part by class.
///
/// A weight below 0 reverses the gradient of its target: with advantages as weights this is a policy gradient. The
/// divisor is Σ |w|, not Σ w, which may be 0 or below. For a mean over N targets divide the weights by N yourself:
///
///   Loss<Summed<SampleWeighted<CrossEntropy>>>     weights A / N: the mean of −A log p, as of (A * -log_p).mean()
///
///   a loss of your own   has `takes_weights = true`; run, and count_correct if it has one, then take a last
///                        View<float>: rows<Output> weights for each sample, or absent
///
/// memory   a copy of a micro-batch's targets and weights
/// refuses  a loss that takes no weights; a place in SumOf, which has Weighted, and divides by samples
/// range    gradients are those of Σ w · loss until the update divides them by Σ |w|. So, if gradients are fp16, keep Σ
///          |w| of a micro-batch near its number of targets: far below it gradients vanish; far above it they overflow,
///          and the step does not count. In fp32 and bf16, whose numbers go down to 1e-38, any Σ |w| from 1e-20 to 1e20
///          will do; below 3e-39 no step counts
/// failure  a weight that is not finite is an Error when its batch is loaded
template <class Function>
struct SampleWeighted final : detail::LossOfNumbers {};  // that takes none: rule sample_weighted_takes_loss
template <class Function>
  requires requires { requires Function::takes_weights; }
struct SampleWeighted<Function> final {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels =
      Value<Bundled<typename Function::template Labels<Output>, Value<fp32, Shape<Function::template rows<Output>>>>,
            Shape<1>>;
  template <class Output>
  static constexpr std::array<std::size_t, 2> labels_below{detail::labels_below<Function, Output>(),
                                                           detail::are_weights};
  template <class Output>
  static constexpr bool accepts = [] {
    if constexpr (requires { Function::template accepts<Output>; }) return Function::template accepts<Output>;
    else return Number<typename Output::Element>;
  }();
  template <class Output>
  static constexpr std::size_t rows = Function::template rows<Output>;

  template <bool gradient, class Output>
  static constexpr void run(auto& walk, std::size_t output, std::size_t target, View<Scalars> scalars, double scale) {
    apart<Output>(walk, target, [&](std::size_t labels, View<float> weights) {
      Function::template run<gradient, Output>(walk, output, labels, scalars, scale, weights);
    });
  }
  template <class Output, class Engine>
    requires requires(Engine& walk, std::size_t at, View<Scalars> scalars, View<float> weights) {
      Function::template count_correct<Output>(walk, at, at, scalars, weights);
    }
  static constexpr void count_correct(Engine& walk, std::size_t output, std::size_t target, View<Scalars> scalars) {
    apart<Output>(walk, target, [&](std::size_t labels, View<float> weights) {
      Function::template count_correct<Output>(walk, output, labels, scalars, weights);
    });
  }

 private:
  template <std::size_t i, class Output>
  static constexpr std::size_t copy(auto& walk, std::size_t target) {
    using Bundle = typename Labels<Output>::Element;
    const std::size_t bytes = walk.capacity * detail::bundled_value<i, Bundle>::type::bytes,
                      to = walk.arena.take(TensorArena::align(bytes), MemoryKind::scratch, walk.path);
    walk.run(detail::copy_of_value<i, Bundle>(walk.batch, target, to));
    return to;
  }
  /// body(targets, weights), each dense, as operations read them.
  template <class Output>
  static constexpr void apart(auto& walk, std::size_t target, auto&& body) {
    const std::size_t labels = copy<0, Output>(walk, target), weights = copy<1, Output>(walk, target);
    body(labels, View<float>{weights});
    walk.arena.give(weights);
    walk.arena.give(labels);
  }
};

namespace detail {
template <class Function>
inline constexpr bool takes_padded_rows<SampleWeighted<Function>> = takes_padded_rows<Function>;
}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
