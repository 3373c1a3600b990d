// regimen/core/operation/softmax_row.hpp — what forward keeps of a row of scores, for backward.
#pragma once

namespace regimen::op {

/// The softmax of a row of scores: p = exp((score − largest) · scale) · factor, of scores that are computed again to the
/// bit. Two numbers, since log Σ exp would be rounded to the ulp of a score, and p be as right as that.
template <class S>
struct SoftmaxRow final {
  S largest, factor;
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
