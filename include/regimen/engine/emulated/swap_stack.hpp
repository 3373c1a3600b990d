// regimen/engine/emulated/swap_stack.hpp — from one stack to another, and what the address sanitizer must be told of stacks and memory.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define REGIMEN_EMULATED_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REGIMEN_EMULATED_ASAN 1
#endif
#endif
#if defined(REGIMEN_EMULATED_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace regimen::emulated::detail {

#if defined(__x86_64__)
/// Saves what a call preserves, and goes on where `load` stopped.
__attribute__((naked, noinline)) inline void swap_stack(void** /*save: rdi*/, void* /*load: rsi*/) {
  __asm__(
      "pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15; movq %rsp,(%rdi);"
      "movq %rsi,%rsp; popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp; ret");
}
#else
#error "regimen: the emulated device switches stacks on x86-64 alone"
#endif

/// Before a swap: where the stack lies that comes next. `fake` keeps ASan's second stack, in which it looks for uses of
/// what a function left; null: this stack is left for good, and its second one given back.
inline void leaves_stack([[maybe_unused]] void** fake, [[maybe_unused]] const void* bottom,
                         [[maybe_unused]] std::size_t bytes) {
#if defined(REGIMEN_EMULATED_ASAN)
  __sanitizer_start_switch_fiber(fake, bottom, bytes);
#endif
}
/// After it: where the stack lies from which it came; without ASan nothing is written.
inline void enters_stack([[maybe_unused]] void* fake, [[maybe_unused]] const void** bottom,
                         [[maybe_unused]] std::size_t* bytes) {
#if defined(REGIMEN_EMULATED_ASAN)
  __sanitizer_finish_switch_fiber(fake, bottom, bytes);
#endif
}
/// These bytes are dead, or live again.
inline void forbid([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) {
#if defined(REGIMEN_EMULATED_ASAN)
  __asan_poison_memory_region(at, bytes);
#endif
}
inline void permit([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) {
#if defined(REGIMEN_EMULATED_ASAN)
  __asan_unpoison_memory_region(at, bytes);
#endif
}
#if defined(REGIMEN_EMULATED_ASAN)
inline constexpr bool has_second_stacks = true;
#undef REGIMEN_EMULATED_ASAN
#else
inline constexpr bool has_second_stacks = false;
#endif

}  // namespace regimen::emulated::detail
// SPDX-License-Identifier: Apache-2.0
