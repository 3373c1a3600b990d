// regimen/engine/plan/wire.hpp — the collectives of a step in their order, unit by unit.
#pragma once

#include <regimen/core/arena.hpp>  // defect
#include <regimen/core/path.hpp>

#include <array>
#include <cstddef>

namespace regimen::plan {

/// Kept only by a plan that was asked for it. A call of an iteration that stands for others stands for `copies` of them; a plan that walks
/// in full has each by itself. Units of a Bucket stand one by one, as if each travelled alone: their bytes are what is sent, their number is not.
struct WireLog final {
  struct Call {
    Path path{};            // of the unit
    std::size_t bytes = 0;  // that this rank sends
    bool gathers = false;   // or reduces
    std::size_t copies = 1;
  };
  static constexpr std::size_t limit = 1024;
  std::array<Call, limit> calls{};
  std::size_t count = 0;

  constexpr void push(const Call& call) {
    if (count == limit) defect("more collectives than a log of them can hold");
    calls[count++] = call;
  }
  /// What was pushed since `from` happens so many times.
  constexpr void multiply(std::size_t from, std::size_t times) {
    for (std::size_t i = from; i < count; ++i) calls[i].copies *= times;
  }
};

}  // namespace regimen::plan
// SPDX-License-Identifier: Apache-2.0
