// tests/core/arena.cpp — the report of an arena's peak is what was live there, whatever came and went before and after.
#include "support/catch.hpp"

#include <regimen/core/arena.hpp>
#include <regimen/core/path.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

using namespace regimen;

namespace {

/// What a list of all live tensors says: copied whole at each event that is higher than all before.
struct Witness final {
  std::vector<ArenaTensor> saved{}, transient{};
  std::size_t peak = 0;
  std::vector<ArenaTensor> saved_then{}, transient_then{};

  void look() {
    std::size_t height = 0, lowest = TensorArena::unlimited;
    for (const ArenaTensor& item : saved) height += item.bytes;
    for (const ArenaTensor& item : transient) lowest = std::min(lowest, item.offset);
    height += TensorArena::unlimited - lowest;
    if (height <= peak) return;
    peak = height;
    saved_then = saved;
    transient_then = transient;
  }
  std::array<std::size_t, memory_kinds> kinds() const {
    std::array<std::size_t, memory_kinds> sums{};
    for (const auto* list : {&saved_then, &transient_then})
      for (const ArenaTensor& item : *list) sums[static_cast<std::size_t>(item.kind)] += item.bytes;
    return sums;
  }
  /// Bytes of the largest lines: saved tensors of a Repeat with the same path, size and kind are one line.
  std::vector<std::size_t> largest() const {
    std::map<std::tuple<std::uint64_t, std::size_t, MemoryKind>, std::size_t> repeated;
    std::vector<std::size_t> lines;
    for (const ArenaTensor& item : transient_then) lines.push_back(item.bytes);
    for (const ArenaTensor& item : saved_then)
      if (item.path.in_repeat) repeated[{item.path.digits, item.bytes, item.kind}] += item.bytes;
      else lines.push_back(item.bytes);
    for (const auto& [key, bytes] : repeated) lines.push_back(bytes);
    std::sort(lines.rbegin(), lines.rend());
    lines.resize(10);
    return lines;
  }
};

void agree(const TensorArena& arena, const TensorLog& log, const Witness& witness) {
  const auto now = std::make_unique<TensorLog>(log);
  now->write(arena.transients);  // as if the walk ended here
  REQUIRE(arena.peak == witness.peak);
  REQUIRE(now->report.bytes_by_kind == witness.kinds());
  std::vector<std::size_t> lines;
  for (const detail::LiveTensors::Line& line : now->report.largest) lines.push_back(line.bytes());
  REQUIRE(lines == witness.largest());
}

}  // namespace

TEST_CASE("the report of a peak is what was live there") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto draw = [&](std::size_t below) { return std::size_t{random()} % below; };
    const auto log = std::make_unique<TensorLog>();
    TensorArena arena;
    arena.log = log.get();
    Witness witness;
    const std::size_t grows = 1 + draw(4);  // the more, the longer it grows before it shrinks
    for (std::size_t event = 0; event < 120; ++event) {
      const bool in_repeat = draw(2) == 0;  // then few are different
      const std::size_t bytes = 16 * (1 + draw(in_repeat ? 2 : 6));
      const MemoryKind kind = static_cast<MemoryKind>(draw(in_repeat ? 2 : memory_kinds));
      const LayerPath path{"layer", in_repeat ? draw(3) : 100 + event, in_repeat ? event : 0, in_repeat};
      const std::size_t what = draw(2 + grows);
      if (what == 0 && !witness.transient.empty()) {
        const auto given = witness.transient.begin() + std::ptrdiff_t(draw(witness.transient.size()));
        arena.give(given->offset);
        witness.transient.erase(given);
      } else if (what == 1 && !witness.saved.empty()) {
        witness.saved.resize(draw(witness.saved.size() + 1));
        arena.pop_to(witness.saved.empty() ? 0 : witness.saved.back().offset + witness.saved.back().bytes);
      } else if (what % 2 == 0 && witness.transient.size() < TransientTensors::limit) {
        witness.transient.push_back({arena.take(bytes, kind, path), bytes, kind, path});
        witness.look();
      } else {
        witness.saved.push_back({arena.push(bytes, kind, path), bytes, kind, path});
        witness.look();
      }
      if (event % 8 == 7) agree(arena, *log, witness);
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
