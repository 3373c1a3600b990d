// regimen/core/defect.hpp — the end of a program that is wrong in itself.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace regimen {

/// Ends the program: a part of the library broke a rule of another one. No input can cause it. Not constexpr, so a plan
/// that reaches it does not compile and the compiler shows the call.
[[noreturn]] inline void defect(const char* what) {
  std::fprintf(stderr, "regimen: internal defect: %s\n", what);
  std::abort();
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
