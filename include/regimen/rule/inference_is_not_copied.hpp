// regimen/rule/inference_is_not_copied.hpp — an Inference is moved or shared, not copied.
#pragma once

namespace regimen::rule {

/// A copy would have weights and an arena of its own.   docs/errors/inference.md#inference_is_not_copied
template <class Inference, bool Copied = true>
struct inference_is_not_copied {
  static constexpr bool holds = !Copied;
  struct must_hold {
    static_assert(holds, "regimen: an Inference is not copied; share its weights by model.share(), or std::move it");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
