// regimen/engine/cpu/part.hpp — how many pieces work is cut into, and where each begins.
#pragma once

#include <cstddef>

#include <unistd.h>

namespace regimen::cpu {

/// The begin of part `part` when `count` things are cut into `parts` nearly equal pieces.
constexpr std::size_t part_begin(std::size_t count, std::size_t parts, std::size_t part) {
  return count / parts * part + (part < count % parts ? part : count % parts);
}

/// The things from begin on, up to the one before end.
struct Range final {
  std::size_t begin, end;
};

/// The next multiple of `to`.
constexpr std::size_t round_up(std::size_t count, std::size_t to) { return (count + to - 1) / to * to; }

namespace detail {

/// All processors of the machine, also those that this process may not use.
inline std::size_t machine_processors() {
  static const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<std::size_t>(count) : 1;
}

}  // namespace detail

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
