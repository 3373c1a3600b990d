// regimen/loss/mean_squared_error.hpp — the loss of regression.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/policy/policy.hpp>

namespace regimen {

/// Σ (x − target)² over all elements of the global batch, divided by their number
///
///   x (B,...) the model's output, at least fp32; overwritten by its gradient
///   target: the shape and type of x
struct MeanSquaredError final {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<typename Output::Element, typename Output::Shape>;
  template <class Output>
  static constexpr std::size_t rows = Output::size;

  template <bool gradient, class Output>
  static constexpr void run(auto& engine, std::size_t output, std::size_t target, View<Scalars> scalars, double scale) {
    using S = typename Output::Element;
    engine.run(op::SquaredError<gradient, S>{.output = {output},
                                             .target = {target},
                                             .scalars = scalars,
                                             .count = engine.batch * Output::size,
                                             .scale = scale});
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
