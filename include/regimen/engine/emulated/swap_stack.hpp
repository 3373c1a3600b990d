// regimen/engine/emulated/swap_stack.hpp — from one stack to another, and what ASan must be told of stacks and memory.
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

// leaves_stack     before a swap: where the stack lies that comes next. `fake` keeps ASan's second stack, in which it
//                  looks for uses of what a function left; null: this stack is left for good, and its second one given
//                  back
// enters_stack     after it: where the stack lies from which it came; without ASan nothing is written
// forbid, permit   these bytes are dead, or live again
#if defined(REGIMEN_EMULATED_ASAN)
inline constexpr bool has_second_stacks = true;
inline void leaves_stack(void** fake, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake, bottom, bytes);
}
inline void enters_stack(void* fake, const void** bottom, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake, bottom, bytes);
}
inline void forbid(const void* at, std::size_t bytes) { __asan_poison_memory_region(at, bytes); }
inline void permit(const void* at, std::size_t bytes) { __asan_unpoison_memory_region(at, bytes); }
#undef REGIMEN_EMULATED_ASAN
#else
inline constexpr bool has_second_stacks = false;
inline void leaves_stack(void** /*fake*/, const void* /*bottom*/, std::size_t) {}
inline void enters_stack(void* /*fake*/, const void** /*bottom*/, std::size_t*) {}
inline void forbid(const void*, std::size_t) {}
inline void permit(const void*, std::size_t) {}
#endif

}  // namespace regimen::emulated::detail
// SPDX-License-Identifier: Apache-2.0
