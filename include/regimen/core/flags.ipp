// regimen/core/flags.ipp — the bodies of flags.hpp.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/flags.hpp>

#include <cstring>
#include <string>

namespace regimen::detail {

REGIMEN_INLINE void expect_same_flags(const FlagsOfFile* list) {
  if (list == nullptr) return;
  const auto words = [](const char* version, const char* flags) {
    return "version " + std::string(version) + (*flags == '\0' ? " with no flags" : " with") + flags;
  };
  for (const FlagsOfFile* other = list->next_; other != nullptr; other = other->next_)
    if (std::strcmp(other->version_, list->version_) != 0 || std::strcmp(other->flags_, list->flags_) != 0)
      throw Error(list->file_,
                  "the flags of " + std::string(other->file_) + ", " + words(other->version_, other->flags_),
                  words(list->version_, list->flags_),
                  "compile all files of a program, and regimen::compiled, with the same headers, -march, libraries and "
                  "sanitizers: set CMAKE_CXX_FLAGS before regimen is added or found; nvcc takes those of its host "
                  "compiler as -Xcompiler=-march=native");
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
