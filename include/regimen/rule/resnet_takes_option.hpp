// regimen/rule/resnet_takes_option.hpp — no option of a ResNet is ignored.
#pragma once

namespace regimen::rule {

/// The options are a ResNet's, each at most once.   docs/errors/networks.md#resnet_takes_option
template <bool Holds, class... Options>
struct resnet_takes_option {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: ResNet takes CifarStem, ConvBias, MaxPooling, Width, BatchNorm, of bottlenecks StrideInFirst; each once");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
