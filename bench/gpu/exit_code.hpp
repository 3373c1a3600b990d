// bench/gpu/exit_code.hpp — how a program of bench/gpu ends after an error.
#pragma once

#include <cstdio>
#include <exception>
#include <string_view>

namespace bench {

/// 77, skipped, where there is no GPU; 1 for all else: a GPU that the build or the driver does not fit is a failure.
inline int exit_code(const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return std::string_view(error.what()).find("Device<Cuda>: expected a GPU ") == 0 ? 77 : 1;
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
