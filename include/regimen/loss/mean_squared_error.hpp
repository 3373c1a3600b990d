// regimen/loss/mean_squared_error.hpp — the loss of regression.
#pragma once

#include <regimen/loss/pointwise.hpp>

namespace regimen {

/// Σ (x − target)² over all elements of the global batch, divided by their number
///
///   x (B,...) the model's output, at least fp32; overwritten by its gradient
///   target: the shape and type of x
struct MeanSquaredError final : detail::PointwiseLoss<pointwise::Squared> {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
