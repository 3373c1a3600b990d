// What one rank alone sees (Ctrl-C, a full disk) becomes a decision of all.
#include "support/catch.hpp"

#include "support/weights.hpp"
#include "train/ranks.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {
using Train = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>>;
struct Small final : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};

/// The second of three steps meets a number on rank 1 alone whose gradient is not finite.
template <class Stage>
void skips_on_all() {
  constexpr std::size_t ranks = 2;
  struct Found {
    std::vector<bool> applied;
    std::vector<double> scales;
    bool weights_stay = false, weights_move = false;
    bool operator==(const Found&) const = default;
  };
  std::vector<Found> found(ranks);
  launch(ranks, [&](comm::Threads& communicator) {
    Trainer<Small, Batch<4>, Precision<fp16, fp32>, LossScale<Dynamic>, Communicator<Threads>, Shard<Stage>> trainer(
        communicator);
    Found& own = found[trainer.rank()];
    const auto weights = [&] { return support::weights_of(trainer); };
    std::vector<std::vector<float>> after;
    for (int step = 0; step < 3; ++step) {
      std::vector<float> inputs(4 * 8, 0.5f);
      const std::vector<std::int32_t> labels(4, 1);
      if (step == 1 && trainer.rank() == 1) inputs[3] = 1e30f;
      const StepResult result = trainer.step(inputs, labels);
      own.applied.push_back(result.applied);
      own.scales.push_back(result.loss_scale);
      after.push_back(weights());
    }
    own.weights_stay = after[0] == after[1];
    own.weights_move = after[1] != after[2];
  });
  CHECK(found[0].applied == std::vector<bool>{true, false, true});
  CHECK(found[0].scales[1] == found[0].scales[0] / 2);
  CHECK(found[0].weights_stay);
  CHECK(found[0].weights_move);
  CHECK(found[1] == found[0]);
}
}  // namespace

TEST_CASE("a run ends on all ranks after the step at which a callback of one says so") {
  const Fake data({.samples = 43, .classes = 11, .seed = 3});
  std::vector<std::uint64_t> steps(3), evaluations(3);
  launch(3, [&](comm::Threads& communicator) {
    Train trainer(communicator);
    const std::size_t rank = trainer.rank();
    const Fitted fitted = trainer.fit(
        data, data, {.steps = 20, .validate_every = 2, .progress = false},
        [&](Train&, const StepResult& step) { return rank != 1 || step.step < 5; },
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
    const bool all = trainer.on_all_ranks(true), most = trainer.on_all_ranks(trainer.rank() != 2),
               none = trainer.on_all_ranks(false);
    found[trainer.rank()] = 4 * all + 2 * most + none;
  });
  CHECK(found == std::vector<int>{4, 4, 4});
  Trainer<Tied<3>, Batch<2>> alone;
  CHECK(alone.on_all_ranks(true));
  CHECK_FALSE(alone.on_all_ranks(false));
}

TEST_CASE("a gradient that is not finite on one rank skips the step on all, under every Shard") {
  skips_on_all<Replicated>();
  skips_on_all<ZeRO1>();
  skips_on_all<ZeRO2>();
  skips_on_all<ZeRO3>();
}
// SPDX-License-Identifier: Apache-2.0
