// regimen/core/mapped_file.hpp — a file, mapped into memory and read in place.
#pragma once

#include <regimen/core/file.hpp>
#include <regimen/core/rules.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace regimen {

/// A whole file, mapped read-only and shared with every other process that maps it. Linux and other POSIX systems.
///
/// failure  throws Error when the file is absent, unreadable, or anything but a regular file; an empty file gives no
///          bytes. A file that another process shortens while it is mapped ends the program (SIGBUS), as with every
///          mapping; writers that replace a file by renaming (detail::AtomicFile) are safe.
/// cost     no memory of its own: pages are read when touched and belong to the page cache
class MappedFile final {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const& { return {static_cast<const std::byte*>(address_), size_}; }
  template <class Self = MappedFile>
  std::span<const std::byte> bytes() const&& {
    static_assert(sizeof(typename rule::borrows_no_temporary<Self>::must_hold));
    return {};
  }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/core/mapped_file.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
