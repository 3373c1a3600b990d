// Ranks that are processes, connected by TCP, train the bits that threads train.
#include "train/processes.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Ranks, class Stage>
using Sharded = Trainer<Tied<3>, Batch<2>, Communicator<Ranks>, Shard<Stage>, Clip<Norm<Ratio<1, 4>>>>;

template <class Stage>
void agrees(const char* what) {
  INFO(what);
  for (const std::size_t ranks : {2u, 4u}) processes_agree<Sharded<Tcp, Stage>, Sharded<Threads, Replicated>>(ranks);
}

}  // namespace

TEST_CASE("processes and threads train the same bits") {
  agrees<ZeRO3>("ZeRO-3");
  agrees<Hybrid<2>>("groups of two");
}
// SPDX-License-Identifier: Apache-2.0
