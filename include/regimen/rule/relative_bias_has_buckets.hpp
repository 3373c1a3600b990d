// regimen/rule/relative_bias_has_buckets.hpp — buckets of distances begin with those of one distance each.
#pragma once

namespace regimen::rule {

/// Fits: 4 buckets or more, an even number, and MaxDistance above half of them.
/// docs/errors/attention.md#relative_bias_has_buckets
template <class Bias, bool Fits>
struct relative_bias_has_buckets {
  static constexpr bool holds = Fits;
  struct must_hold {
    static_assert(
        holds,
        "regimen: RelativeBias<B, M> has an even B of 4 or more, and M above B / 2; write RelativeBias<32, 128>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
