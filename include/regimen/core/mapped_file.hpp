// regimen/core/mapped_file.hpp — a file, mapped into memory and read in place.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/file.hpp>

#include <sys/mman.h>

#include <cerrno>
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
  explicit MappedFile(const std::string& path) {
    const detail::OpenFile file = detail::open_file(path);
    size_ = file.size;
    if (size_ == 0) return;
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, *file.descriptor, 0);
    if (address == MAP_FAILED) {
      throw Error(path, "a mapping of " + std::to_string(size_) + " bytes", detail::system_words(errno),
                  "is the address space limited (ulimit -v)?");
    }
    address_ = address;
  }
  MappedFile(MappedFile&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile() {
    if (address_ != nullptr) ::munmap(address_, size_);
  }

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
