// regimen/core/path_text.hpp — a path as text.
#pragma once

#include <regimen/core/path.hpp>

#include <cstdint>
#include <string>

namespace regimen {

[[gnu::noinline]] inline std::string LayerPath::place() const {
  std::string places;
  if (is_outside()) return places;
  for (std::uint64_t rest = digits; rest > 0; rest /= 256)
    places = std::to_string(rest % 256 - 1) + (places.empty() ? "" : ".") + places;
  return places;
}
[[gnu::noinline]] inline std::string LayerPath::text() const {
  return place() + " (" + name + ")" + (in_repeat ? ", iteration " + std::to_string(iteration) : "");
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
