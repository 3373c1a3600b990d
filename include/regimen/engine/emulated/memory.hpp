// regimen/engine/emulated/memory.hpp — memory of an emulated device, which the host cannot touch, and pinned memory of
// the host.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/emulated/swap_stack.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include <sys/mman.h>

namespace regimen::emulated {

/// A range of addresses with allocations. Each ends at a page that nobody may touch, after a few bytes of a pattern
/// that fill its alignment. Released addresses are never used again, so a stale pointer faults. Fresh memory is NaN.
///
///   closed   the device's memory: accessible only between open() and close(), that is, to queued work
///   open     pinned memory of the host
///
/// failure  Error if no address space is left, or if something wrote into the pattern
class Memory final {
 public:
  static constexpr std::size_t alignment = 256, page = 4096;

  Memory(std::size_t capacity, bool closed) : size_(capacity), closed_(closed) {
    void* const at = ::mmap(nullptr, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
      throw Error("the emulated device", std::to_string(capacity) + " bytes of addresses", "none",
                  "raise the limit of address space (ulimit -v)");
    base_ = static_cast<std::byte*>(at);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    for (const auto& [end, allocation] : allocations_)
      detail::permit(allocation.begin, static_cast<std::size_t>(end - allocation.begin));
    ::munmap(base_, size_);
  }

  std::byte* allocate(std::size_t bytes, const char* name) {
    const std::size_t used = round_up(bytes == 0 ? 1 : bytes, alignment);
    const std::size_t held = round_up(used, page) + 2 * page;
    if (held < bytes || held > size_ - used_)
      throw Error(
          std::string("memory for ") + name,
          "at most " + std::to_string(size_ - used_) + " bytes, which the emulated device has left",
          std::to_string(bytes) + " bytes",
          "choose a smaller batch, Checkpoint<Every<1>>, or, for batches that are read ahead, a smaller .ahead");
    std::byte* const end = base_ + used_ + held - page;
    std::byte* const begin = end - used;
    used_ += held;
    allocations_[end] = {begin, bytes, name, true};
    protect(begin, end, PROT_READ | PROT_WRITE);
    std::memset(begin, 0xFF, bytes);
    std::memset(begin + bytes, tail, used - bytes);
    if (closed_) protect(begin, end, PROT_NONE);
    return begin;
  }

  void release(const void* begin) {
    for (auto& [end, allocation] : allocations_) {
      if (allocation.begin != begin || !allocation.live) continue;
      protect(allocation.begin, end, PROT_READ | PROT_WRITE);
      check_tail(allocation, end);
      detail::permit(allocation.begin, allocation.bytes);
      allocation.live = false;
      protect(allocation.begin, end, PROT_NONE);
      return;
    }
    throw Error("release", "memory that was allocated and not released", describe(begin));
  }

  void open() const { protect_all(PROT_READ | PROT_WRITE); }
  void close() const { protect_all(PROT_NONE); }
  /// While open: whether nothing has written behind the end of an allocation.
  void check_tails() const {
    for (const auto& [end, allocation] : allocations_)
      if (allocation.live) check_tail(allocation, end);
  }

  bool owns(const void* at) const {
    return !std::less<const void*>{}(at, base_) && std::less<const void*>{}(at, base_ + size_);
  }
  /// Whether so many bytes from `at` on lie in one allocation that is not released. Allocations are found by their
  /// ends: the first that ends behind the address.
  bool holds(const void* at, std::size_t bytes) const {
    if (!owns(at)) return false;
    const auto found = allocations_.upper_bound(static_cast<const std::byte*>(at));
    if (found == allocations_.end() || !found->second.live) return false;
    const auto* const from = static_cast<const std::byte*>(at);
    return from >= found->second.begin && bytes <= found->second.bytes &&
           static_cast<std::size_t>(from - found->second.begin) <= found->second.bytes - bytes;
  }
  /// Where an address lies, in words.
  std::string describe(const void* at) const {
    if (!owns(at)) return "memory that is not the device's";
    const auto found = allocations_.upper_bound(static_cast<const std::byte*>(at));
    if (found == allocations_.end()) return "memory that was never allocated";
    const Allocation& near = found->second;
    return "byte " + std::to_string(static_cast<const std::byte*>(at) - near.begin) + " of " + near.name +
           ", which has " + std::to_string(near.bytes) + " bytes" + (near.live ? "" : " and was released");
  }

 private:
  static constexpr int tail = 0xA5;
  struct Allocation {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    const char* name = "";
    bool live = false;
  };

  static constexpr std::size_t round_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
  }
  /// Whole pages. Where they are closed, an access by the host faults, as memory of a GPU would.
  static void protect(const std::byte* begin, const std::byte* end, int how) {
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
    if (::mprotect(reinterpret_cast<void*>(first), reinterpret_cast<std::uintptr_t>(end) - first, how) != 0)
      throw Error("the emulated device", "a change of protection of its memory", "a refusal of the system",
                  "raise vm.max_map_count");
  }
  void protect_all(int how) const {
    for (const auto& [end, allocation] : allocations_)
      if (allocation.live) protect(allocation.begin, end, how);
  }
  void check_tail(const Allocation& allocation, const std::byte* end) const {
    for (const std::byte* at = allocation.begin + allocation.bytes; at < end; ++at)
      if (*at != std::byte{tail})
        throw Error("the emulated device", "no write behind the end of an allocation", "one at " + describe(at));
  }

  std::byte* base_ = nullptr;
  std::size_t size_, used_ = page;
  bool closed_;
  std::map<const std::byte*, Allocation, std::less<>> allocations_;  // by their ends
};

}  // namespace regimen::emulated

// SPDX-License-Identifier: Apache-2.0
