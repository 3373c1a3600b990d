// What ranks send each other is what the plan says, and what the formulas of the ZeRO paper say.
#include <regimen/comm/counting.hpp>

#include "train/shard.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

struct Sent {
  std::size_t gathered = 0, reduced = 0, planned = 0;
};

/// Bytes of one step, of each rank the same.
template <class Train>
Sent sent_in_a_step(std::size_t ranks) {
  static const Fake data({.samples = 640, .classes = 11, .seed = 3});
  std::vector<Sent> sent(ranks);
  launch(ranks, [&](comm::Threads& communicator) {
    comm::Counting<comm::Threads> counting(communicator);
    Train trainer(counting);
    trainer.fit(data, {.steps = 1, .progress = false});
    counting.reset();
    trainer.fit(data, {.steps = 2, .progress = false});
    Sent& own = sent[communicator.rank()];
    own = {counting.count(comm::Kind::AllGather).bytes, counting.count(comm::Kind::ReduceScatter).bytes, trainer.planned().wire()};
  });
  for (const Sent& each : sent) {
    CHECK(each.gathered + each.reduced == each.planned);
    CHECK(each.gathered == sent[0].gathered);
    CHECK(each.reduced == sent[0].reduced);
  }
  return sent[0];
}

template <class Stage, class... Policies>
using Sharded = Trainer<Gpt<3>, Batch<2>, Communicator<Threads>, Shard<Stage>, Policies...>;

/// Elements of all units, each cut into equal slices: Ψ and what padding adds.
template <class Train>
std::size_t padded(std::size_t ranks) {
  std::size_t sum = 0;
  Train::Recipe::Bound::for_each_unit(ranks,
                                      [&]<class Unit>(walk::UnitOffsets, std::size_t count, Path) { sum += count * ranks * Unit::slice(ranks); });
  return sum;
}

}  // namespace

TEST_CASE("Replicated, ZeRO-1 and ZeRO-2 send 2 psi (N - 1) / N elements, ZeRO-3 at most 3 psi (N - 1) / N") {
  for (const std::size_t ranks : {2u, 3u, 4u}) {
    INFO(ranks << " ranks");
    const std::size_t once = padded<Sharded<Replicated>>(ranks) / ranks * (ranks - 1) * sizeof(float);
    CHECK(padded<Sharded<Replicated>>(ranks) >= Sharded<Replicated>::plan().parameters);
    for (const Sent& sent :
         {sent_in_a_step<Sharded<Replicated>>(ranks), sent_in_a_step<Sharded<ZeRO1>>(ranks), sent_in_a_step<Sharded<ZeRO2>>(ranks)}) {
      CHECK(sent.reduced == once);
      CHECK(sent.gathered == once);
    }
    const Sent sent = sent_in_a_step<Sharded<ZeRO3>>(ranks);
    CHECK(sent.reduced == once);
    CHECK(sent.gathered > once);
    CHECK(sent.gathered < 2 * once);  // tables, whose backward reads no weights, and the last unit, which stays, are gathered once
  }
}
// SPDX-License-Identifier: Apache-2.0
