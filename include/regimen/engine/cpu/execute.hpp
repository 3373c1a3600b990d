// regimen/engine/cpu/execute.hpp — how the CPU engine runs an operation.
#pragma once

#include <regimen/core/compiled.hpp>
#if REGIMEN_COMPILED
#include <regimen/engine/cpu/compiled.hpp>
#endif

namespace regimen::cpu {

struct Memory;

/// Runs an operation: by its kernel in regimen::compiled, or by compute(operation, memory), which is found where the
/// operation, or what it is made of, is at home.
template <class Operation>
[[gnu::always_inline]] inline void execute(const Operation& operation, const Memory& memory) {
#if REGIMEN_COMPILED
  if constexpr (is_compiled<Operation>) compute_compiled<Operation>(&operation, memory);
  else if constexpr (requires { compute(operation, memory); }) compute(operation, memory);
  else static_cast<void>(detail::KernelsAreIncluded<is_compiled<Operation>>{});
#else
  compute(operation, memory);
#endif
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
