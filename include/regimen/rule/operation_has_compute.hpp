// regimen/rule/operation_has_compute.hpp — the CPU computes all operations of a layer, a loss, or an update rule.
#pragma once

namespace regimen::rule {

/// An operation of a program's own is computed by a function of its own namespace, which is declared before the first
/// Trainer that needs it.   docs/errors/extensions.md#operation_has_compute
template <class Owner, class Device, bool has_all>
struct operation_has_compute {
  static constexpr bool holds = has_all;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an operation of this has no compute(operation, cpu::Memory) for the CPU; write it in the operation's namespace");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
