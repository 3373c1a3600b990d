// Segments that stay gathered: the bits of all others, in the memory that was planned. (What they send:
// shard_wire_checkpoint.cpp.)
#include "train/shard.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Network, class Schedule, class Sharding, class... Policies>
using Train = Trainer<Network, Batch<2>, Communicator<Threads>, Sharding, Checkpoint<Schedule>, Policies...>;

}  // namespace

TEST_CASE("repeated layers without weights stand among those with") {
  CHECK(train_on<Trainer<FollowedByNothing, Batch<2>, Communicator<Threads>, Shard<ZeRO3>>>(2, true) ==
        train_on<Trainer<FollowedByNothing, Batch<2>, Communicator<Threads>>>(2));
  CHECK(train_on<Trainer<ReadsLittle, Batch<2>, Communicator<Threads>, Shard<ZeRO3>>>(2, true) ==
        train_on<Trainer<ReadsLittle, Batch<2>, Communicator<Threads>>>(2));
}

TEST_CASE("segments that stay gathered change no bit") {
  const Outcome replicated = train_on<Train<Tied<5>, Every<2>, Shard<Replicated>>>(4);
  CHECK(train_on<Train<Tied<5>, Every<2>, Shard<ZeRO3, KeepSegments>>>(4, true) == replicated);
  CHECK(train_on<Train<Tied<5>, Every<3>, Shard<Hybrid<2>, KeepSegments, Prefetch<0>>>>(4, true) == replicated);
}
// SPDX-License-Identifier: Apache-2.0
