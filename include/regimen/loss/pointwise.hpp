// regimen/loss/pointwise.hpp — losses of single elements: Huber, and binary cross-entropy.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/ratio.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/policy/loss.hpp>

#include <cstddef>

namespace regimen {

namespace detail {

/// The sum of a function over all elements of the global batch, divided by their number.
template <class Function>
struct PointwiseLoss : LossOfNumbers {
  using masked = PointwiseLoss<pointwise::Masked<Function>>;
  static constexpr bool takes_weights = true;
  template <class Output>
  static constexpr std::size_t rows = Output::size;

  template <bool gradient, class Output>
  static constexpr void run(auto& walk, std::size_t output, std::size_t target, View<Scalars> scalars, double scale,
                            View<float> weight = {}) {
    using S = typename Output::Element;
    walk.run(op::PointwiseLoss<Function, gradient, S>{.output = {output},
                                                      .target = {target},
                                                      .scalars = scalars,
                                                      .count = walk.batch * Output::size,
                                                      .scale = scale,
                                                      .weight = weight});
  }
};

}  // namespace detail

/// Σ f(|x − target|), divided by the number of elements of the global batch;
/// f(d) = d² / 2 for d up to Delta, Delta · (d − Delta / 2) beyond
///
///   x (B,...) the model's output, at least fp32; overwritten by its gradient
///   target: the shape and type of x; Delta a Ratio above 0
///
/// source   Huber 1964
template <class Delta = Ratio<1>>
struct Huber final : detail::PointwiseLoss<pointwise::Huber<Delta>> {
  using delta = Delta;
};

/// −Σ target · log s(x) + (1 − target) · log(1 − s(x)), s the logistic function, divided by the number of elements of
/// the global batch: each output answers its own question
///
///   x (B,...) the model's output, before the logistic function, at least fp32; overwritten by its gradient
///   target: the shape and type of x, probabilities in [0, 1]
///
/// refuses  Sigmoid, Softmax or Relu as the last layer
struct BinaryCrossEntropy final : detail::PointwiseLoss<pointwise::BinaryCrossEntropy> {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
