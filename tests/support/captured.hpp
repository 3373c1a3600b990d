// tests/support/captured.hpp — what a piece of a program writes to standard error.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace support {

template <class Action>
std::string captured_error(const Action& action) {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) std::abort();
  std::fflush(stderr);
  const int kept = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file), STDERR_FILENO);
  const auto put_back = [&] {
    std::fflush(stderr);
    ::dup2(kept, STDERR_FILENO);
    ::close(kept);
  };
  try {
    action();
  } catch (...) {
    put_back();
    std::fclose(file);
    throw;
  }
  put_back();
  std::string text;
  std::rewind(file);
  for (int character = 0; (character = std::fgetc(file)) != EOF;) text += static_cast<char>(character);
  std::fclose(file);
  return text;
}

}  // namespace support
// SPDX-License-Identifier: Apache-2.0
