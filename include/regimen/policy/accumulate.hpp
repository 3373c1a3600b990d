// regimen/policy/accumulate.hpp — how many micro-batches make one optimizer step.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// Decides how many batches are summed into the gradients before the optimizer sees them. The loss is a sum and a count and the
/// division happens once, so batches with unequal numbers of valid targets weigh what they should.
///
///   choices   Accumulate<N> with N ≥ 1
///   default   Accumulate<1>
///   refuses   Accumulate<0>
///   cost      the activations of one batch, whatever N is; gradients stay for all N
template <std::size_t N>
struct Accumulate final {
  using axis = regimen::axis::accumulate;
  static constexpr std::size_t count = N;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
