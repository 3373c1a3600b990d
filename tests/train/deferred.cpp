// A Trainer relies on nothing of an engine but what the concept says: one that works late, out of the host's reach,
// trains the same bits.
#include "train/deferred.hpp"

#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/inference.hpp>

#include <span>
#include <string>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace regimen::test;

TEST_CASE("an engine that works late, and out of the host's reach, trains and resumes the same bits") {
  trains_the_same<Gpt<3>, Batch<4>, Accumulate<2>, Checkpoint<Every<2>>, Clip<Norm<Ratio<1>>>>("a GPT with dropout");
  trains_the_same<Tied<2>, Batch<3>, Precision<bf16, fp32>, Checkpoint<Selective<LayerNorm>>>("a tied table, bf16");
  trains_the_same<Mlp, Batch<4>, Optimizer<Sgd>, Precision<fp16, fp32>, LossScale<Dynamic>>(
      "an MLP, fp16 and a loss scale that moves");
}

TEST_CASE("what is recorded is carried out again, and late") {
  using Train = Trainer<Gpt<3>, Batch<4>, Device<Deferred>>;
  Train trainer;
  const std::size_t before = DeferredEngine::replayed;
  DeferredEngine::late = 0;
  trainer.fit(fake_data(), {.steps = 12, .progress = false});
  CHECK(DeferredEngine::replayed - before == 10);  // of two recordings: of whole batches, and of the last of an epoch
  CHECK(DeferredEngine::late > Train::plan().operations());
}

TEST_CASE("also a loop by hand, predictions, and parameters that a program writes") {
  const auto run = [](auto trainer_of) {
    using Train = typename decltype(trainer_of)::type;
    Train trainer;
    trainer.poison_dead_memory();
    std::vector<typename Train::Input> inputs(4 * Train::input_size);
    std::vector<typename Train::Label> targets(4 * Train::target_size);
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<typename Train::Input>(i % 11);
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<typename Train::Label>(i % 5);
    DeferredOutcome outcome;
    for (int step = 0; step < 3; ++step) {
      const auto first = trainer.forward(inputs, targets);
      (void)trainer.backward(first);
      const auto second = trainer.forward(inputs, targets);
      outcome.numbers.insert(outcome.numbers.end(), {first.value(), second.value()});
      const auto gradients = trainer.backward(second);
      for (const auto& gradient : trainer.gradients())
        for (const auto value : gradient.values) outcome.numbers.push_back(double(value) / trainer.gradient_divisor());
      outcome.numbers.push_back(trainer.apply(gradients).gradient_norm);
    }
    for (const auto& parameter : trainer.parameters()) parameter.values[0] = 0.25f;
    trainer.parameters_changed();
    for (const auto value : trainer.predict(inputs)) outcome.numbers.push_back(double(value));
    outcome.weights = support::weights_of<double>(trainer);
    return outcome;
  };
  CHECK(run(std::type_identity<Trainer<Gpt<3>, Batch<4>, Precision<bf16, fp32>, Device<Deferred>>>{}) ==
        run(std::type_identity<Trainer<Gpt<3>, Batch<4>, Precision<bf16, fp32>>>{}));
}

TEST_CASE("also an Inference") {
  const ::test::Directory folder;
  Trainer<Gpt<3>, Batch<4>> trainer;
  trainer.save(folder / "state");
  Inference<Gpt<3>, Batch<2>> here(folder / "state");
  Inference<Gpt<3>, Batch<2>, Device<Deferred>> there(folder / "state");
  there.poison_dead_memory();
  std::vector<std::int32_t> tokens(3 * decltype(here)::input_size);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i % 11);
  CHECK(here.predict(tokens) == there.predict(tokens));
  for (const auto& parameter : there.parameters()) parameter.template values<float>()[0] = 1;
  for (const auto& parameter : here.parameters()) parameter.template values<float>()[0] = 1;
  there.parameters_changed();
  here.parameters_changed();
  CHECK(here.predict(tokens) == there.predict(tokens));
}

TEST_CASE("also the first layer that is not finite is named") { names_the_first_layer_that_is_not_finite<Deferred>(); }

TEST_CASE("ranks whose engines work late train the same bits under every Shard") {
  ranks_train_the_same<Shard<Replicated>>(2, "replicated");
  ranks_train_the_same<Shard<Replicated, Bucket<4096>>>(2, "buckets");
  ranks_train_the_same<Shard<ZeRO2>, Accumulate<2>>(3, "ZeRO-2");
  ranks_train_the_same<Shard<ZeRO3>, Checkpoint<Every<1>>>(2, "ZeRO-3");
}
// SPDX-License-Identifier: Apache-2.0
