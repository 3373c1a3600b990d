// regimen/core/weights.hpp — where the parameters of a layer lie.
#pragma once

#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen {

/// Parameters and their gradients, as offsets into the arena. The first use of a parameter assigns the gradient, a second
/// use (tied weights, a further micro-batch) adds to it.
struct Weights {
  std::size_t values = View<char>::absent, gradients = View<char>::absent;
  bool add = false;
};

/// Tables that several layers of one model may share.
inline constexpr std::size_t tied_limit = 4;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
