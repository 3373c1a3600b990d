// regimen/rule/device_attends_in_form.hpp — a device computes attention only in forms that it has.
#pragma once

namespace regimen::rule {

/// Scores that are stored are a form of GPUs: the CPU engine stores none.
/// Has: whether the engine of Device computes attention in the form of Attention.
/// docs/errors/devices.md#device_attends_in_form
template <class Attention, class Device, bool Has>
struct device_attends_in_form {
  static constexpr bool holds = Has;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this Device<...> has no such form of attention; leave Attention<...> out, or write Device<Cuda>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
