// regimen/rule/device_convolves_in_form.hpp — a device computes convolutions only in forms that it has.
#pragma once

namespace regimen::rule {

/// Direct and Cudnn are forms of GPUs.
/// Has: whether the engine of Device computes convolutions in the form of Convolution.
/// docs/errors/devices.md#device_convolves_in_form
template <class Convolution, class Device, bool Has>
struct device_convolves_in_form {
  static constexpr bool holds = Has;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this Device<...> has no such form of convolution; leave Convolution<...> out, or write Device<Cuda>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
