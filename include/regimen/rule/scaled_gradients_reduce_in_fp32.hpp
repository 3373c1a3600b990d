// regimen/rule/scaled_gradients_reduce_in_fp32.hpp — sums of scaled gradients do not overflow.
#pragma once

#include <regimen/policy/communicator.hpp>
#include <regimen/policy/loss_scale.hpp>
#include <regimen/policy/precision.hpp>

#include <type_traits>

namespace regimen::rule {

/// The loss scale moves gradients near the largest fp16 number; the sum over two ranks would overflow.
/// docs/errors/precision.md#scaled_gradients_reduce_in_fp32
template <class Precision, class LossScale, class Communicator>
struct scaled_gradients_reduce_in_fp32 {
  static constexpr bool holds = !LossScale::scales || sizeof(typename Precision::reduce) >= 4 ||
                                std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(holds, "regimen: ranks would add scaled gradients in 16 bits; write Precision<fp16, fp32, fp32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
