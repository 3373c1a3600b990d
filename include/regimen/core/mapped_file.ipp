// regimen/core/mapped_file.ipp — the bodies of mapped_file.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/mapped_file.hpp>

#include <sys/mman.h>

#include <cerrno>

namespace regimen {

REGIMEN_INLINE MappedFile::MappedFile(const std::string& path) {
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

REGIMEN_INLINE MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
