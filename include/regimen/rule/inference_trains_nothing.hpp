// regimen/rule/inference_trains_nothing.hpp — Inference takes only policies that a forward pass reads.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen::rule {

/// Inference would ignore an optimizer.   docs/errors/inference.md#inference_trains_nothing
template <class P>
struct inference_trains_nothing {
  static constexpr bool holds = detail::is_any_of<typename P::axis, axis::precision, axis::batch, axis::device,
                                                  axis::target, axis::fusion, axis::attention, axis::convolution>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Inference trains nothing; keep Precision, Batch, Device, Target, Fusion, Attention, Convolution");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
