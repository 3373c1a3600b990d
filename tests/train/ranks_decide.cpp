// What one rank alone sees (Ctrl-C, a full disk) becomes a decision of all.
#include "support/catch.hpp"

#include "train/ranks.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {
using Train = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>>;
}

TEST_CASE("a run ends on all ranks after the step at which a callback of one says so") {
  const Fake data({.samples = 43, .classes = 11, .seed = 3});
  std::vector<std::uint64_t> steps(3), evaluations(3);
  launch(3, [&](comm::Threads& communicator) {
    Train trainer(communicator);
    const std::size_t rank = trainer.rank();
    const Fitted fitted = trainer.fit(
        data, data, {.steps = 20, .validate_every = 2, .progress = false}, [&](Train&, const StepResult& step) { return rank != 1 || step.step < 5; },
        [&](Train&, const Evaluation&) { ++evaluations[rank]; });
    steps[rank] = fitted.steps;
  });
  CHECK(steps == std::vector<std::uint64_t>{5, 5, 5});
  CHECK(evaluations == std::vector<std::uint64_t>{3, 3, 3});  // after steps 2 and 4, and at the end
}

TEST_CASE("on_all_ranks is true where every rank says so") {
  std::vector<int> found(3);
  launch(3, [&](comm::Threads& communicator) {
    Train trainer(communicator);
    const bool all = trainer.on_all_ranks(true), most = trainer.on_all_ranks(trainer.rank() != 2), none = trainer.on_all_ranks(false);
    found[trainer.rank()] = 4 * all + 2 * most + none;
  });
  CHECK(found == std::vector<int>{4, 4, 4});
  Trainer<Tied<3>, Batch<2>> alone;
  CHECK(alone.on_all_ranks(true));
  CHECK_FALSE(alone.on_all_ranks(false));
}
// SPDX-License-Identifier: Apache-2.0
