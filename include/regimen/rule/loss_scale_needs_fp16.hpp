// regimen/rule/loss_scale_needs_fp16.hpp — only fp16 gains from a loss scale.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// bf16, fp32 and fp64 reach down to 2^-126 and below: a scale would cost a pass and gain nothing.
/// docs/errors/precision.md#loss_scale_needs_fp16
template <class Precision, class LossScale>
struct loss_scale_needs_fp16 {
  static constexpr bool holds = std::is_same_v<typename Precision::compute, fp16> || !LossScale::scales;
  struct must_hold {
    static_assert(holds, "regimen: LossScale<...> serves fp16 alone; take it out, or compute in Precision<fp16, fp32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
