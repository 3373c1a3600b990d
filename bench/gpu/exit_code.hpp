// bench/gpu/exit_code.hpp — how a program of bench/gpu ends after an error, and the error in JSON.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace bench {

inline constexpr int skipped = 77;

/// 77, skipped, where there is no GPU; 1 for all else: a GPU that the build or the driver does not fit is a failure.
inline int exit_code_of(const std::exception& error) {
  return std::string_view(error.what()).find("Device<Cuda>: expected a GPU ") == 0 ? skipped : 1;
}

/// The inside of a JSON string, of one line.
inline std::string in_json(std::string_view text) {
  std::string inside;
  for (const char c : text)
    if (c == '"' || c == '\\') inside += {'\\', c};
    else inside += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return inside;
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
