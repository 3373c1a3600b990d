// regimen/core/path_text.ipp — the bodies of path_text.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/path_text.hpp>

#include <cstdint>
#include <string>

namespace regimen {

REGIMEN_INLINE std::string LayerPath::place() const {
  std::string places;
  if (is_outside()) return places;
  for (std::uint64_t rest = digits; rest > 0; rest /= 256)
    places = std::to_string(rest % 256 - 1) + (places.empty() ? "" : ".") + places;
  return places;
}

REGIMEN_INLINE std::string LayerPath::text() const {
  return place() + " (" + name + ")" + (in_repeat ? ", iteration " + std::to_string(iteration) : "");
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
