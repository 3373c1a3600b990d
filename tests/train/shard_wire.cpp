// What ranks send each other is what the plan says of each unit, and what the formulas of the ZeRO paper say.
#include "train/wire.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Stage, class... Policies>
using Sharded = Trainer<Gpt<9>, Batch<2>, Communicator<Threads>, Shard<Stage>, Policies...>;

}  // namespace

TEST_CASE("Replicated, ZeRO-1 and ZeRO-2 send 2 psi (N - 1) / N elements, ZeRO-3 at most 3 psi (N - 1) / N") {
  const std::vector<UnitShape> units = units_of_gpt(9);
  const std::size_t psi = elements(units);
  CHECK(Sharded<Replicated>::plan().parameters == psi);
  for (const std::size_t ranks : {2u, 3u, 4u, 8u}) {
    INFO(ranks << " ranks");
    const std::size_t padded = padded_elements(units, ranks);
    CHECK(padded >= psi);
    CHECK(padded < psi + 13 * ranks * TensorArena::alignment /
                             sizeof(float));  // 13 units, each filled up by less than a line a rank
    const Wire twice = expected_wire(units, ranks, [](const std::string&, std::size_t) { return std::pair(1, 1); });
    CHECK(bytes(twice) * ranks == 2 * padded * (ranks - 1) * sizeof(float));
    CHECK(text_of(wire_of<Sharded<Replicated>>(ranks)) == text_of(twice));
    CHECK(text_of(wire_of<Sharded<ZeRO1>>(ranks)) == text_of(twice));
    CHECK(text_of(wire_of<Sharded<ZeRO2>>(ranks)) == text_of(twice));
    // Forward gathers every unit. Backward gathers again, but for tables, whose backward reads no weights, and for the
    // last unit of forward, which is still there.
    const Wire thrice = expected_wire(units, ranks, [](const std::string& place, std::size_t) {
      return std::pair(place == "3" || place == "4" ? 2 : 1, 1);
    });
    CHECK(bytes(thrice) * ranks <= 3 * padded * (ranks - 1) * sizeof(float));
    CHECK(text_of(wire_of<Sharded<ZeRO3>>(ranks)) == text_of(thrice));
  }
}
// SPDX-License-Identifier: Apache-2.0
