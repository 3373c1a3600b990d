// regimen/rule/cudnn_is_found.hpp — a program that calls cuDNN is compiled with it.
#pragma once

namespace regimen::rule {

/// Policy: Attention<Cudnn> or Convolution<Cudnn>. Found: whether it is; CMake's target regimen::cuda says so where it finds the library.
/// docs/errors/devices.md#cudnn_is_found
template <class Policy, class Device, bool Found>
struct cudnn_is_found {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(holds,
                  "regimen: this program has no cuDNN; install it for CMake's regimen::cuda, or name another form");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
