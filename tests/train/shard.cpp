// Who owns what does not change the result: the same bits under every Shard.
#include "train/shard.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Stage, class... Policies>
using Sharded = Trainer<Gpt<3>, Batch<2>, Communicator<Threads>, Stage, Policies...>;

template <class... Policies>
void agrees(const char* what) {
  for (const std::size_t ranks : {1u, 2u, 3u, 4u, 8u}) {
    INFO(what << ", " << ranks << " ranks");
    const Outcome replicated = train_on<Sharded<Shard<Replicated>, Policies...>>(ranks);
    CHECK(replicated.losses.size() == 20);
    CHECK(train_on<Sharded<Shard<ZeRO1>, Policies...>>(ranks) == replicated);
    CHECK(train_on<Sharded<Shard<ZeRO2>, Policies...>>(ranks) == replicated);
    CHECK(train_on<Sharded<Shard<ZeRO3>, Policies...>>(ranks) == replicated);
    CHECK(train_on<Sharded<Shard<ZeRO3, Prefetch<0>>, Policies...>>(ranks) == replicated);
    if (ranks % 2 == 0) CHECK(train_on<Sharded<Shard<Hybrid<2>>, Policies...>>(ranks) == replicated);
    if (ranks % 4 == 0) CHECK(train_on<Sharded<Shard<Hybrid<4>>, Policies...>>(ranks) == replicated);
    if (ranks == 3) CHECK(train_on<Sharded<Shard<Hybrid<3>>, Policies...>>(ranks) == replicated);
  }
}

}  // namespace

TEST_CASE("twenty steps of a GPT with dropout and a tied table are the same bits under every Shard") {
  agrees<>("plain");
}
// SPDX-License-Identifier: Apache-2.0
