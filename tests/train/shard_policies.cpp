// Sharding composed with what else changes the walk: recomputation, accumulation, clipping, narrow numbers, tied
// tables.
#include "train/shard.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Network, class Stage, class... Policies>
using Sharded = Trainer<Network, Batch<2>, Communicator<Threads>, Shard<Stage>, Policies...>;

template <class Network, class... Policies>
void agrees(const char* what) {
  for (const std::size_t ranks : {2u, 3u}) {
    INFO(what << ", " << ranks << " ranks");
    const Outcome replicated = train_on<Sharded<Network, Replicated, Policies...>>(ranks);
    CHECK(train_on<Sharded<Network, ZeRO1, Policies...>>(ranks) == replicated);
    CHECK(train_on<Sharded<Network, ZeRO2, Policies...>>(ranks) == replicated);
    CHECK(train_on<Sharded<Network, ZeRO3, Policies...>>(ranks, true) == replicated);
  }
  const Outcome replicated = train_on<Sharded<Network, Replicated, Policies...>>(4);
  CHECK(train_on<Sharded<Network, Hybrid<2>, Policies...>>(4, true) == replicated);
}

}  // namespace

TEST_CASE("tied tables, clipping, accumulation that reduces each time") {
  agrees<Tied<3>, Clip<Norm<Ratio<1, 4>>>, Accumulate<3, ReduceEach>>("tied");
}
TEST_CASE("segments of two in five blocks, bf16") {
  agrees<Tied<5>, Checkpoint<Every<2>>, Precision<bf16, fp32>>("every 2");
}
TEST_CASE("every block again") { agrees<Gpt<4>, Checkpoint<Every<1>>>("every 1"); }
// SPDX-License-Identifier: Apache-2.0
