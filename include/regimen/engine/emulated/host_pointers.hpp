// regimen/engine/emulated/host_pointers.hpp — finds addresses of the host among the members of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <link.h>
#include <sys/mman.h>

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define REGIMEN_CLEARS_PADDING 1
#endif
#endif

namespace regimen::emulated {

/// A kernel that is given an address of the host faults on a GPU, and works here, where all memory is one. So the words
/// of a kernel are looked up in the mappings of the process before it is launched.
///
/// finds     addresses of the stack, the heap, the program's variables, and of other devices
/// leaves    the program's constants, such as the names of layers, which kernels hand on and do not read
/// lacks     kernels with padding, where the compiler cannot clear it (clang): padding is junk, and may be an old
///           address;
///           words whose lowest byte is below 8: a small member with padding behind it, which g++ 12 does not clear
///           in members of members
class HostPointers final {
 public:
  HostPointers() { ::dl_iterate_phdr(&add_constants, &constants_); }

  /// Whether a word is an address of the host.   is_allowed(address)
  template <class Kernel, class IsAllowed>
  bool are_in(const Kernel& kernel, const IsAllowed& is_allowed) const {
    alignas(Kernel) std::byte words[sizeof(Kernel)];
    std::memcpy(words, &kernel, sizeof words);
#if defined(REGIMEN_CLEARS_PADDING)
    __builtin_clear_padding(std::launder(reinterpret_cast<Kernel*>(words)));
#else
    if constexpr (!std::has_unique_object_representations_v<Kernel>) return false;
#endif
    for (std::size_t at = 0; at + sizeof(void*) <= sizeof words; at += sizeof(void*)) {
      std::uintptr_t word = 0;
      std::memcpy(&word, words + at, sizeof word);
      if (word % 256 >= 8 && word >= lowest && word < highest && !is_constant(word) &&
          !is_allowed(reinterpret_cast<const void*>(word)) && is_mapped(word))
        return true;
    }
    return false;
  }

 private:
  /// Where Linux places programs, heaps and stacks on 64 bits; few pairs of small integers lie there.
  static constexpr std::uintptr_t lowest = 0x5000'0000'0000, highest = 0x8000'0000'0000, page = 4096;
  using Range = std::pair<std::uintptr_t, std::uintptr_t>;

  static int add_constants(dl_phdr_info* info, std::size_t, void* to) {
    for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
      const auto& part = info->dlpi_phdr[i];
      if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
      const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
      static_cast<std::vector<Range>*>(to)->push_back({begin, begin + part.p_memsz});
    }
    return 0;
  }
  bool is_constant(std::uintptr_t word) const {
    for (const auto& [begin, end] : constants_)
      if (word >= begin && word < end) return true;
    return false;
  }
  static bool is_mapped(std::uintptr_t word) {
    return ::msync(reinterpret_cast<void*>(word / page * page), 1, MS_ASYNC) == 0;
  }

  std::vector<Range> constants_;
};

}  // namespace regimen::emulated

#undef REGIMEN_CLEARS_PADDING
// SPDX-License-Identifier: Apache-2.0
