// Accumulation, narrow numbers and tied tables send what the plan says of each unit.
#include "train/wire.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

template <class... Policies>
using Sharded = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Policies...>;

}  // namespace

TEST_CASE(
    "each micro-batch gathers under ZeRO-3, and reduces where Accumulate says so; values travel in their own type") {
  const std::vector<UnitShape> units = units_of_tied(3);
  for (const std::size_t ranks : {2u, 3u}) {
    INFO(ranks << " ranks");
    // A tied table is gathered before forward and stays; the last norm is the last unit of forward.
    const auto times = [](std::size_t gathers, std::size_t reductions) {
      return [=](const std::string& place, std::size_t) {
        return std::pair(place == "2" ? 2 * gathers : gathers, reductions);
      };
    };
    CHECK(text_of(wire_of<Sharded<Shard<ZeRO3>, Accumulate<3, ReduceEach>>>(ranks)) ==
          text_of(expected_wire(units, ranks, times(3, 3))));
    const Wire wire = wire_of<Sharded<Shard<ZeRO3>, Accumulate<4>, Precision<bf16, fp32>>>(ranks);
    CHECK(text_of(wire) == text_of(expected_wire(units, ranks, times(4, 4), sizeof(bf16))));
    const auto all = [](std::size_t gathers, std::size_t reductions) {
      return [=](const std::string&, std::size_t) { return std::pair(gathers, reductions); };
    };
    CHECK(text_of(wire_of<Sharded<Shard<ZeRO1>, Accumulate<3, ReduceOnce>>>(ranks)) ==
          text_of(expected_wire(units, ranks, all(1, 1))));
    CHECK(text_of(wire_of<Sharded<Shard<Replicated>, Accumulate<3, ReduceEach>>>(ranks)) ==
          text_of(expected_wire(units, ranks, all(1, 3))));
  }
}
// SPDX-License-Identifier: Apache-2.0
