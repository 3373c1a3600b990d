// What one rank alone sees (Ctrl-C, a full disk) becomes a decision of all.
#include "support/catch.hpp"

#include "support/weights.hpp"
#include "temporary.hpp"
#include "train/ranks.hpp"

#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

namespace {
/// How many members an aggregate has: a new option makes these tests ask whether ranks must share it.
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, std::size_t... i>
constexpr bool takes(std::index_sequence<i...>) {
  return requires { T{(static_cast<void>(i), Anything{})...}; };
}
template <class T, std::size_t count = 0>
constexpr std::size_t members_of() {
  if constexpr (takes<T>(std::make_index_sequence<count + 1>{})) return members_of<T, count + 1>();
  else return count;
}

using Agreeing = Trainer<Small, Batch<4>, Optimizer<Averaged<AdamW>>, Communicator<Threads>>;
template <class Options>
using Changes = std::vector<std::pair<std::string, std::function<void(Options&)>>>;

/// What two ranks say of which rank 1 has changed something: of their Trainers, or, with a `run`, of fit.
std::string said(const Agreeing::Options& base, const std::function<void(Agreeing::Options&)>& change) {
  return ::test::error_of([&] {
    launch(2, [&](comm::Threads& communicator) {
      Agreeing::Options options = base;
      if (communicator.rank() == 1) change(options);
      Agreeing trainer(communicator, options);
    });
  });
}
std::string said_of_fit(const FitOptions& base, const std::function<void(FitOptions&)>& change,
                        std::pair<std::size_t, std::size_t> of_one = {0, 0}, const std::string& loads = {}) {
  return ::test::error_of([&] {
    launch(2, [&](comm::Threads& communicator) {
      FitOptions run = base;
      const bool second = communicator.rank() == 1;
      if (second) change(run);
      const Fake data({.samples = 20, .classes = 4, .seed = second ? of_one.first : 0}),
          validation({.samples = 12, .classes = 4, .seed = second ? of_one.second : 0});
      Agreeing trainer(communicator);
      if (second && !loads.empty()) trainer.load(loads);
      trainer.fit(data, validation, run);
    });
  });
}
/// Each option of a rule is in its hash, whatever the others are. `of` is a hash of options.
template <class Options>
void are_hashed(const char* what, const Options& base, const Changes<Options>& changes, const auto& of,
                std::size_t misnamed) {
  INFO(what);
  CHECK(changes.size() + misnamed == members_of<Options>() - 1);  // the learning rate has a hash of its own
  std::set<std::uint64_t> seen{of(base)};
  CHECK(of(base) == *seen.begin());
  for (const auto& [name, change] : changes) {
    INFO(name);
    Options options = base;
    change(options);
    CHECK(seen.insert(of(options)).second);
  }
}
}  // namespace

TEST_CASE(
    "an option of a Trainer that one rank has otherwise is told before training, of every option that ranks share") {
  static_assert(members_of<Agreeing::Options>() == 6 + 24 &&
                members_of<AdamW::Options>() == 5 + 5);  // and misnamed ones
  const Agreeing::Options base{.schedule = Schedule::warmup_stable_decay(3, 10, 12, 0.1)};
  const Changes<Agreeing::Options> shared{
      {"seed", [](auto& o) { o.seed = 7; }},
      {"compare_weights_every", [](auto& o) { o.compare_weights_every = 99; }},
      {"learning rate", [](auto& o) { o.optimizer.learning_rate *= 1 + 1e-12; }},
      {"beta1", [](auto& o) { o.optimizer.beta1 = 0.8; }},
      {"beta2", [](auto& o) { o.optimizer.beta2 = 0.9991; }},
      {"epsilon", [](auto& o) { o.optimizer.epsilon = 2e-8; }},
      {"weight decay", [](auto& o) { o.optimizer.weight_decay = 0.011; }},
      {"schedule", [](auto& o) { o.schedule = {}; }},
      {"shape", [](auto& o) { o.schedule.shape = Schedule::Shape::cosine; }},
      {"warmup", [](auto& o) { o.schedule.warmup = 2; }},
      {"decay_from", [](auto& o) { o.schedule.decay_from = 9; }},  // steps 9 to 11 alone differ
      {"end", [](auto& o) { o.schedule.end = 13; }},
      {"floor", [](auto& o) { o.schedule.floor = 0.2; }}};
  for (const auto& [name, change] : shared) {
    INFO(name);
    const std::string text = said(base, change);
    CHECK(::test::says(text, "the same program, seed and options on all 2 ranks"));
    CHECK(::test::says(text, "rank 1"));
  }
  const Changes<Agreeing::Options> own{{"threads", [](auto& o) { o.threads = 1; }},
                                       {"nothing", [](auto&) {}}};  // verbose prints
  for (const auto& [name, change] : own) {
    INFO(name);
    CHECK(said(base, change).empty());
  }
}

TEST_CASE("an option of fit that one rank has otherwise is told, of every option that ranks share, and so are data") {
  static_assert(members_of<FitOptions>() == 10 + 36);  // and misnamed ones
  const FitOptions base{.steps = 3, .epochs = 2, .validate_every = 2, .patience = 4, .progress = false};
  const Changes<FitOptions> shared{{"steps", [](auto& o) { o.steps = 4; }},
                                   {"epochs", [](auto& o) { o.epochs = 1; }},
                                   {"validate_every", [](auto& o) { o.validate_every = 1; }},
                                   {"patience", [](auto& o) { o.patience = 3; }},
                                   {"order", [](auto& o) { o.order = Order::Sequential; }},
                                   {"remainder", [](auto& o) { o.remainder = Remainder::Wrap; }},
                                   {"validate_average", [](auto& o) { o.validate_average = true; }}};
  for (const auto& [name, change] : shared) {
    INFO(name);
    const std::string text = said_of_fit(base, change);
    CHECK(::test::says(text, "Trainer::fit: expected the same run on all 2 ranks"));
  }
  const Changes<FitOptions> own{{"workers", [](auto& o) { o.workers = 2; }}, {"ahead", [](auto& o) { o.ahead = 3; }}};
  for (const auto& [name, change] : own) {
    INFO(name);
    CHECK(said_of_fit(base, change).empty());
  }
  const auto nothing = [](FitOptions&) {};
  CHECK(::test::says(said_of_fit(base, nothing, {5, 0}), "the same data on all 2 ranks"));
  CHECK(::test::says(said_of_fit(base, nothing, {0, 5}), "the same validation data on all 2 ranks"));
  const ::test::Directory folder;
  launch(2, [&](comm::Threads& communicator) {
    Agreeing trainer(communicator);
    trainer.fit(Fake({.samples = 20, .classes = 4}), {.steps = 1, .progress = false});
    trainer.save(folder / "state");
  });
  CHECK(::test::says(said_of_fit(base, nothing, {0, 0}, folder / "state"), "the same step on all 2 ranks"));
}

TEST_CASE("every option of every update rule is in what ranks compare") {
  const auto of_elements = []<class Rule>(Rule*) {
    return [](const typename Rule::Options& options) { return trainers::fingerprint_of_rule<Rule>(options); };
  };
  const auto of_operations = []<class Rule>(Rule*) {
    return [](const typename Rule::Options& options) {
      return trainers::fingerprint_of_operations<Rule, Agreeing::Engine>(options);
    };
  };
  const auto decay = [](auto& o) { o.weight_decay += 1e-9; };
  const auto epsilon = [](auto& o) { o.epsilon *= 1.001; };
  const auto beta1 = [](auto& o) { o.beta1 += 1e-9; };
  const auto beta2 = [](auto& o) { o.beta2 += 1e-9; };
  const auto momentum = [](auto& o) { o.momentum += 1e-9; };
  const auto nesterov = [](auto& o) { o.nesterov = !o.nesterov; };
  are_hashed<AdamW::Options>("AdamW", {}, {{"1", beta1}, {"2", beta2}, {"e", epsilon}, {"d", decay}},
                             of_elements(static_cast<AdamW*>(nullptr)), 5);
  are_hashed<Adam::Options>("Adam", {}, {{"1", beta1}, {"2", beta2}, {"e", epsilon}, {"d", decay}},
                            of_elements(static_cast<Adam*>(nullptr)), 5);
  are_hashed<Sgd::Options>("Sgd", {.momentum = 0.9}, {{"m", momentum}, {"d", decay}, {"n", nesterov}},
                           of_elements(static_cast<Sgd*>(nullptr)), 1);
  are_hashed<RmsProp::Options>("RmsProp", {},
                               {{"a", [](auto& o) { o.alpha -= 1e-9; }}, {"e", epsilon}, {"m", momentum}, {"d", decay}},
                               of_elements(static_cast<RmsProp*>(nullptr)), 3);
  are_hashed<Lamb::Options>("Lamb", {}, {{"1", beta1}, {"2", beta2}, {"e", epsilon}, {"d", decay}},
                            of_operations(static_cast<Lamb*>(nullptr)), 5);
  are_hashed<Muon::Options>("Muon", {}, {{"m", momentum}, {"d", decay}, {"e", epsilon}, {"n", nesterov}},
                            of_operations(static_cast<Muon*>(nullptr)), 1);
}

TEST_CASE("a gradient that is not finite on one rank skips the step on all, under every Shard") {
  skips_on_all<Replicated>();
  skips_on_all<ZeRO1>();
  skips_on_all<ZeRO2>();
  skips_on_all<ZeRO3>();
}
// SPDX-License-Identifier: Apache-2.0
