// regimen/core/operation/softmax_row.hpp — what forward keeps of a row of scores, for backward.
#pragma once

#include <regimen/core/hd.hpp>

namespace regimen::op {

/// The softmax of a row of scores: p = exp((score − largest) · scale) · factor, of scores that are computed again to
/// the bit. Two numbers, since log Σ exp would be rounded to the ulp of a score, and p be as right as that.
template <class S>
struct SoftmaxRow final {
  S largest, factor;
};

/// Whether one probability of the row is nearly 1, or 1. Its d_p is then nearly δ, the mean of d_p, and of their
/// difference, which its gradient is, roundings are left, unless δ is summed from these very d_p. (Also where it is 1:
/// what a probability of 1e-8 adds to δ counts if its d_p is large. Of a row that is not sharp, δ from y does as well:
/// the bar of tests/kernel/large_scores.cpp is met from 0.999 on as it is from 0 on.)
template <class S>
REGIMEN_HD constexpr bool is_sharp(const SoftmaxRow<S>& row) {
  return row.factor > S(1) - S(0x1p-10);
}

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
