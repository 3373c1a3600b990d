// regimen/engine/plan/wire.hpp — the collectives of a step in order, unit by unit.
#pragma once

#include <regimen/core/arena.hpp>  // defect
#include <regimen/core/defect.hpp>
#include <regimen/core/path.hpp>

#include <array>
#include <cstddef>

namespace regimen::planning {

/// Kept only by a plan that was asked for it. One entry stands for `copies` equal collectives of skipped
/// iterations; a full plan has an entry for each. The units of a Bucket have an entry each: the bytes are right,
/// but a Bucket sends fewer collectives.
struct WireLog final {
  struct Call {
    LayerPath path{};       // of the unit
    std::size_t bytes = 0;  // that this rank sends
    bool gathers = false;   // false: reduces
    std::size_t copies = 1;
  };
  static constexpr std::size_t limit = 1024;
  std::array<Call, limit> calls{};
  std::size_t count = 0;

  constexpr void push(const Call& call) {
    if (count == limit) defect("more collectives than a log of them can hold");
    calls[count++] = call;
  }
  /// Entries pushed since `from` happen this many times.
  constexpr void multiply(std::size_t from, std::size_t times) {
    for (std::size_t i = from; i < count; ++i) calls[i].copies *= times;
  }
};

}  // namespace regimen::planning
// SPDX-License-Identifier: Apache-2.0
