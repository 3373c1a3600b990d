// tests/device/attempt.hpp — one form that fails hides no other.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

namespace regimen::test {

/// f(), which says whether all is right; an Error is a JSON object, and false.
template <class F>
bool attempt(const char* what, const F& f) {
  try {
    return f();
  } catch (const std::exception& error) {
    std::string text = error.what();
    for (char& c : text)
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = ' ';
    std::printf("{\"failed\":\"%s\",\"error\":\"%s\"}\n", what, text.c_str());
    std::fflush(stdout);
    return false;
  }
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
