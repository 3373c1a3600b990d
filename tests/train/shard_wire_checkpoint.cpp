// Recomputation sends what the plan says of each unit: nothing more for every block, one gather more for each longer
// segment's block but the last, unless segments are kept.
#include "train/wire.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

template <class... Policies>
using Sharded = Trainer<Gpt<9>, Batch<2>, Communicator<Threads>, Policies...>;

}  // namespace

TEST_CASE("recomputing every block gathers nothing again, in segments of two the first block of each once more") {
  const std::vector<UnitShape> units = units_of_gpt(9);
  for (const std::size_t ranks : {2u, 3u}) {
    INFO(ranks << " ranks");
    const Times kept = [](const std::string& place, std::size_t) {
      return std::pair(place == "3" || place == "4" ? 2 : 1, 1);
    };
    const Times segments = [&](const std::string& place, std::size_t i) {
      // Segments {0, 1}, {2, 3}, ... {8}: the last block of a segment stays from its recomputation to its backward.
      const std::size_t again = place == "3" && i % 2 == 0 && i != 8 ? 1 : 0;
      return std::pair(kept(place, i).first + again, std::size_t{1});
    };
    const std::string none = text_of(wire_of<Sharded<Shard<ZeRO3>>>(ranks));
    CHECK(none == text_of(expected_wire(units, ranks, kept)));
    CHECK(text_of(wire_of<Sharded<Shard<ZeRO3>, Checkpoint<Every<1>>>>(ranks)) == none);
    CHECK(text_of(wire_of<Sharded<Shard<ZeRO3>, Checkpoint<Every<2>>>>(ranks)) ==
          text_of(expected_wire(units, ranks, segments)));
    CHECK(text_of(wire_of<Sharded<Shard<ZeRO3, KeepSegments>, Checkpoint<Every<2>>>>(ranks)) == none);
  }
}
// SPDX-License-Identifier: Apache-2.0
