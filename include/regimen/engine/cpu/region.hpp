// regimen/engine/cpu/region.hpp — the arena's memory on the host, with a guard page; and a hash of bytes.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/hash.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define REGIMEN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REGIMEN_ASAN 1
#endif
#endif
#if defined(REGIMEN_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace regimen::cpu {

/// Exactly `bytes` zero bytes that end at an inaccessible page: an access to one byte beyond the plan ends the program.
/// 64-byte aligned if `bytes` is a multiple of 64.
///
/// failure  Error if the system has not enough memory
class Region {
 public:
  explicit Region(std::size_t bytes) : bytes_(bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = round_up(bytes, page);
    mapped_ = inner + 2 * page;
    if (inner < bytes || mapped_ < inner) refuse(bytes, "more than an address can say");
    void* const at = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) refuse(bytes, std::strerror(errno));
    start_ = static_cast<std::byte*>(at);
    if (mprotect(start_ + page, inner, PROT_READ | PROT_WRITE) != 0) {
      const int reason = errno;
      munmap(start_, mapped_);
      refuse(bytes, std::strerror(reason));
    }
    madvise(start_ + page, inner, MADV_HUGEPAGE);  // a hint: fewer page faults where the system offers it
    base_ = start_ + page + (inner - bytes);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    lives(0, bytes_);
    munmap(start_, mapped_);
  }

  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }

  /// Marks [offset, offset + bytes) as dead until it is allocated again: fills it with NaN; poisons it under ASan.
  void dies(std::size_t offset, std::size_t bytes) const {
    std::memset(base_ + offset, 0xFF, bytes);
#if defined(REGIMEN_ASAN)
    ASAN_POISON_MEMORY_REGION(base_ + offset, bytes);
#endif
  }
  void lives([[maybe_unused]] std::size_t offset, [[maybe_unused]] std::size_t bytes) const {
#if defined(REGIMEN_ASAN)
    ASAN_UNPOISON_MEMORY_REGION(base_ + offset, bytes);
#endif
  }

 private:
  [[noreturn]] static void refuse(std::size_t bytes, const char* reason) {
    throw Error("the arena of this program", std::to_string(bytes) + " bytes of memory, as the plan says", reason,
                "choose a smaller batch, Checkpoint<Every<1>>, or a machine with more memory");
  }

  std::byte *start_ = nullptr, *base_ = nullptr;
  std::size_t bytes_, mapped_ = 0;
};

/// On all cores.
inline std::uint64_t hash_of_bytes(std::span<const std::byte> bytes) {
  return engines::hash_of_bytes(bytes, [](std::size_t chunks, const auto& body) { parallel_for(chunks, body); });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
