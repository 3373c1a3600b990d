// regimen/rule/operation_has_kernel.hpp — a device runs all operations of a layer, or of an update rule.
#pragma once

namespace regimen::rule {

/// An operation of a program's own needs a form for each device: compute() for the CPU, a Kernel for a GPU.
/// docs/errors/extensions.md#operation_has_kernel
template <class Owner, class Device, bool has_all>
struct operation_has_kernel {
  static constexpr bool holds = has_all;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an operation of this has no Kernel for a GPU; specialise regimen::kernel::Kernel, or write Device<Cpu>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
