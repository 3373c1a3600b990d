// regimen/core/mapped_file.hpp — a file, mapped into memory and read in place.
#pragma once

#include <regimen/core/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace regimen {

namespace detail {

/// The operating system's text for the error `code`; safe in any thread.
inline std::string system_words(int code) { return std::generic_category().message(code); }

/// An open file, closed at the end of the scope.
class Descriptor final {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int operator*() const { return number_; }

 private:
  int number_;
};

}  // namespace detail

/// A whole file, mapped read-only and shared with every other process that maps it. Linux and other POSIX systems.
///
/// failure  throws Error when the file is absent, unreadable, or anything but a regular file; an empty file gives no
///          bytes. A file that another process shortens while it is mapped ends the program (SIGBUS), as with every
///          mapping; writers that replace a file by renaming (detail::AtomicFile) are safe.
/// cost     no memory of its own: pages are read when touched and belong to the page cache
class MappedFile final {
 public:
  explicit MappedFile(const std::string& path) {
    const detail::Descriptor file(
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not wait for its writer
    if (*file < 0)
      throw Error(path, "a file that can be read", detail::system_words(errno), "check the path and its permissions");
    struct ::stat about{};
    if (::fstat(*file, &about) != 0) throw Error(path, "a file that can be read", detail::system_words(errno));
    if (!S_ISREG(about.st_mode)) {
      throw Error(path, "a regular file", S_ISDIR(about.st_mode) ? "a directory" : "a pipe or a device",
                  "give the path of a file");
    }
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ == 0) return;
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, *file, 0);
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
