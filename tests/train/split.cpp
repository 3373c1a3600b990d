// Groups of parameters: each is trained as a Trainer with its rule alone would, whatever the others do.
#include "support/on_runtime.hpp"
#include "support/rounding.hpp"
#include "train/deferred.hpp"
#include "train/shard.hpp"

#include <regimen/engine/emulated/device.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/optimizer/split.hpp>
#include <regimen/saves/safetensors.hpp>
#include <regimen/watch/find_rate.hpp>
#include <regimen/watch/run_text.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

/// A group of one's own: vectors of so many elements.
template <std::size_t count>
struct Long final {
  using rule = Adam;
  template <class>
  static constexpr bool takes(const Parameter& parameter) {
    return parameter.rank == 1 && parameter.size() == count;
  }
};
struct Net final : Model<Input<Vector<7>>, Linear<13>, Gelu, LayerNorm, Linear<9>, Gelu, Linear<5>> {};
using ThreeGroups = Split<OfLayer<Linear<9>, Sgd>, Matrices<Muon>, Rest<AdamW>>;

const Fake& samples() {
  static const Fake fake({.samples = 40, .classes = 5, .seed = 37});
  return fake;
}

template <class Train>
void set(Train& trainer, const std::vector<std::vector<double>>& values) {
  std::size_t i = 0;
  for (const auto& parameter : trainer.parameters()) {
    std::copy(values[i].begin(), values[i].end(), parameter.values.begin());
    ++i;
  }
  trainer.parameters_changed();
}
template <class Train>
std::vector<std::vector<double>> get(Train& trainer) {
  std::vector<std::vector<double>> values;
  for (const auto& parameter : trainer.parameters())
    values.emplace_back(parameter.values.begin(), parameter.values.end());
  return values;
}

}  // namespace

// What composes, and what does not: in which order groups decide, groups that are none, rules of groups that are none.
template <class... Groups>
inline constexpr bool composes = Composable<Net, Optimizer<Split<Groups...>>>;
static_assert(composes<Matrices<Muon>, Rest<AdamW>> &&
              composes<OfLayer<Linear<9>, Sgd>, OfLayer<LayerNorm, Adam>, Rest<AdamW>>);
static_assert(composes<OfLayer<Linear<9>, Sgd>, Matrices<Muon>, Rest<AdamW>> &&
              !composes<Matrices<Muon>, Matrices<Sgd>, Rest<AdamW>>);
static_assert(!composes<Rest<AdamW>> && !composes<Matrices<Muon>> && !composes<Rest<Sgd>, Rest<AdamW>> &&
              !composes<Rest<AdamW>, Matrices<Muon>> && !composes<Sgd, AdamW> && !composes<>);
static_assert(!composes<OfLayer<Linear<10>, Sgd>, Rest<AdamW>> &&
              !composes<Matrices<Split<Matrices<Sgd>, Rest<Adam>>>, Rest<AdamW>>);
static_assert(composes<Long<13>, Rest<AdamW>> && !composes<Long<14>, Rest<AdamW>>);
static_assert(!Composable<Net, Optimizer<Split<OfLayer<LayerNorm, Sgd>, Rest<AdamW>>>, Freeze<LayerNorm>>);

TEST_CASE("each group moves as a Trainer with its rule alone does") {
  // Before each step all have the same weights, so the same gradients; and state depends on gradients alone.
  const Schedule schedule = Schedule::warmup_cosine(2, 5, 0.1);
  const Sgd::Options sgd{.learning_rate = 0.3, .momentum = 0.9};
  const Muon::Options muon{.learning_rate = 0.02};
  const AdamW::Options adamw{.learning_rate = 3e-3, .beta2 = 0.9};
  Trainer<Net, Batch<8>, Precision<fp64>, Optimizer<ThreeGroups>> all{
      {.optimizer = {.first = sgd, .second = muon, .rest = adamw}, .schedule = schedule}};
  Trainer<Net, Batch<8>, Precision<fp64>, Optimizer<Sgd>> first{{.optimizer = sgd, .schedule = schedule}};
  Trainer<Net, Batch<8>, Precision<fp64>, Optimizer<Muon>> second{{.optimizer = muon, .schedule = schedule}};
  Trainer<Net, Batch<8>, Precision<fp64>, Optimizer<AdamW>> rest{{.optimizer = adamw, .schedule = schedule}};
  all.poison_dead_memory();
  auto loader = all.batches(samples(), {.epochs = 1});
  std::vector<std::string> names;
  std::vector<bool> is_matrix;
  for (const auto& parameter : all.parameters()) {
    names.push_back(parameter.name);
    is_matrix.push_back(parameter.role == ParameterRole::matrix);
  }
  for (std::uint64_t step = 0; step < 5; ++step) {
    const auto next = loader.next();
    const auto before = get(all);
    const auto moved = [&](auto& trainer) {
      set(trainer, before);
      const StepResult result = trainer.step(next.input, next.target);
      CHECK(result.applied);
      return get(trainer);
    };
    const auto by_sgd = moved(first), by_muon = moved(second), by_adamw = moved(rest);
    const StepResult result = all.step(next.input, next.target);
    CHECK(result.learning_rate == schedule.share(step));
    const auto after = get(all);
    for (std::size_t i = 0; i < names.size(); ++i) {
      INFO("step " << step << ", " << names[i]);
      const bool is_third = names[i].starts_with("3.");
      CHECK(after[i] == (is_third ? by_sgd : is_matrix[i] ? by_muon : by_adamw)[i]);
      CHECK(after[i] != (is_third || !is_matrix[i] ? by_muon : by_sgd)[i]);
    }
  }
  CHECK(all.used().peak == all.planned().peak);
}

TEST_CASE("a group follows a schedule of its own as a Trainer with that schedule does") {
  const Schedule falls = Schedule::warmup_linear(0, 6, 0.2), rises = Schedule::warmup_cosine(3, 9);
  const Muon::Options muon{.learning_rate = 0.02};
  const AdamW::Options adamw{.learning_rate = 3e-3};
  using Both = Trainer<Net, Batch<8>, Precision<fp64>, Optimizer<Split<Matrices<Muon>, Rest<AdamW>>>>;
  Both all{{.optimizer = {.first = muon, .rest = adamw, .learning_rate = 0.5, .schedules = {.rest = rises}},
            .schedule = falls}};
  Trainer<Net, Batch<8>, Precision<fp64>, Optimizer<Muon>> matrices{
      {.optimizer = {.learning_rate = 0.01}, .schedule = falls}};
  Trainer<Net, Batch<8>, Precision<fp64>, Optimizer<AdamW>> rest{
      {.optimizer = {.learning_rate = 1.5e-3}, .schedule = rises}};
  auto loader = all.batches(samples(), {.epochs = 1});
  std::vector<bool> is_matrix;
  for (const auto& parameter : all.parameters()) is_matrix.push_back(parameter.role == ParameterRole::matrix);
  for (std::uint64_t step = 0; step < 5; ++step) {
    const auto next = loader.next();
    const auto before = get(all);
    const auto moved = [&](auto& trainer) {
      set(trainer, before);
      trainer.step(next.input, next.target);
      return get(trainer);
    };
    const auto by_muon = moved(matrices), by_adamw = moved(rest);
    CHECK(all.step(next.input, next.target).learning_rate == 0.5 * falls.share(step));
    const auto after = get(all);
    for (std::size_t i = 0; i < after.size(); ++i) {
      INFO("step " << step << ", parameter " << i);
      REQUIRE(after[i].size() == by_muon[i].size());
      // The same factors of a rate in another order: two roundings, of weights below 4 that move by less than 1.
      for (std::size_t k = 0; k < after[i].size(); ++k)
        CHECK(std::abs(after[i][k] - (is_matrix[i] ? by_muon : by_adamw)[i][k]) < 4 * 0x1p-52);
    }
  }
  CHECK(all.used().peak == all.planned().peak);
}

TEST_CASE("schedules of groups are checked, named in run.txt, part of the fingerprint, and no company of find_rate") {
  using Both = Trainer<Net, Batch<8>, Optimizer<Split<Matrices<Muon>, Rest<AdamW>>>>;
  const auto error_of = [](auto&& act) { return ::test::error_of(act); };
  const auto mentions = [](const std::string& text, const auto&... parts) {
    return ((text.find(parts) != std::string::npos) && ...);
  };
  CHECK(mentions(error_of([] { Both{{.optimizer = {.schedules = {.rest = Schedule::steps(0, 0.5)}}}}; }),
                 "options.optimizer.schedules.rest", "every at least 1"));
  CHECK(mentions(error_of([] { Both{{.optimizer = {.schedules = {.first = Schedule::warmup_linear(1, 9, -1)}}}}; }),
                 "options.optimizer.schedules.first, floor", "found -1"));
  Both plain, own{{.optimizer = {.schedules = {.first = Schedule::warmup_linear(1, 9)}}}};
  CHECK(run_text(plain).find("schedules") == std::string::npos);
  CHECK(run_text(own).find("optimizer.schedules.first: linear warmup 1 ") != std::string::npos);
  const auto hash = [](auto& trainer) {
    const std::string text = run_text(trainer);
    return text.substr(text.find("\nhash: "), 30);
  };
  CHECK(hash(plain) != hash(own));
  CHECK(mentions(error_of([&] { find_rate(own, samples()); }), "find_rate", "a schedule of its own"));
  CHECK(mentions(error_of([&] {
                   Both wild{{.optimizer = {.schedules = {.rest = Schedule::steps(1, 1e200)}}}};
                   wild.fit(samples(), {.steps = 3, .progress = false});
                 }),
                 "step 2, learning rate"));
}

TEST_CASE("groups of one rule are that rule, for as many operations as there are groups") {
  using One = Trainer<Gpt<2>, Batch<4>>;
  using Two = Trainer<Gpt<2>, Batch<4>, Optimizer<Split<Matrices<AdamW>, Rest<AdamW>>>>;
  const auto weights = [](auto& trainer) {
    static const Fake data({.samples = 43, .classes = 11, .seed = 3});
    trainer.fit(data, {.steps = 5, .progress = false});
    return support::weights_of(trainer);
  };
  One one;
  Two two;
  CHECK(weights(one) == weights(two));
  // Of the units a table and positions have one group, two blocks and the last layers two.
  static_assert(Two::plan().update.operations == One::plan().update.operations + 2 /* scalars */ + 2 + 1);
  static_assert(Two::plan().bytes(MemoryKind::parameter) == One::plan().bytes(MemoryKind::parameter) &&
                Two::plan().kept == One::plan().kept);
  static_assert(Two::plan().update.flops == One::plan().update.flops + 2);
}

TEST_CASE("files name each parameter's state by its own rule, and training goes on") {
  const ::test::Directory folder;
  const std::string path = folder / "state.safetensors";
  using Train = Trainer<Net, Batch<4>, Optimizer<ThreeGroups>, Precision<bf16, fp32>>;
  const auto outcome = [&](auto&& between) {
    Train trainer;
    trainer.fit(samples(), {.steps = 4, .progress = false});
    between(trainer);
    trainer.fit(samples(), {.steps = 9, .progress = false});
    return support::weights_of<double>(trainer);
  };
  const auto whole = outcome([](auto&) {});
  CHECK(outcome([&](Train& trainer) { trainer.save(path); }) == whole);
  Train resumed;
  resumed.load(path);
  resumed.fit(samples(), {.steps = 9, .progress = false});
  CHECK(support::weights_of<double>(resumed) == whole);
  std::vector<std::string> states;
  for (const std::string& name : saves::SavedState(path).names())
    if (name.starts_with("optimizer.")) states.push_back(name);
  std::vector<std::string> expected{"optimizer.momentum.0.weight", "optimizer.momentum.3.weight",
                                    "optimizer.momentum.3.bias", "optimizer.momentum.5.weight"};
  for (const char* name : {"0.bias", "2.weight", "2.bias", "5.bias"})
    for (const char* state : {"first_moment", "second_moment"})
      expected.push_back(std::string("optimizer.") + state + "." + name);
  std::sort(states.begin(), states.end());
  std::sort(expected.begin(), expected.end());
  CHECK(states == expected);
}

TEST_CASE("groups on the device do what they do on the CPU, and resume") {
  const auto outcome = []<class... More>(boost::mp11::mp_list<More...>) {
    const ::test::Directory folder;
    Trainer<Net, Batch<4>, Optimizer<ThreeGroups>, Precision<fp64>, More...> trainer;
    return regimen::test::train(trainer, folder / "state", true);
  };
  const DeferredOutcome here = outcome(boost::mp11::mp_list<>{}),
                        there = outcome(boost::mp11::mp_list<Device<Emulated>>{});
  CHECK(support::distance(here.numbers, there.numbers) < support::of_order);
  CHECK(support::distance(here.weights, there.weights) < support::of_order);
}

TEST_CASE("ranks agree on every group's options, and a rate that no step can have is refused") {
  const auto words = [](double momentum, double factor) {
    return ::test::error_of([&] {
      launch(2, [&](comm::Threads& communicator) {
        const bool is_first = communicator.rank() == 0;
        Trainer<Net, Batch<2>, Optimizer<ThreeGroups>, Communicator<Threads>> trainer(
            communicator, {.optimizer = {.second = {.momentum = is_first ? 0.95 : momentum},
                                         .learning_rate = is_first ? 1 : factor}});
      });
    });
  };
  CHECK(words(0.95, 1).empty());
  CHECK(::test::says(words(0.9, 1), "program, seed and options"));
  CHECK(::test::says(words(0.95, 2), "program, seed and options"));
  using Train = Trainer<Net, Batch<4>, Optimizer<ThreeGroups>>;
  CHECK(::test::says(::test::error_of([] { Train({.optimizer = {.rest = {.learning_rate = -1}}}); }),
                     "optimizer.rest.learning_rate"));
  CHECK(::test::says(::test::error_of([] { Train({.optimizer = {.second = {.momentum = 1}}}); }), "momentum"));
  CHECK(::test::says(::test::error_of([] {
                       Train trainer{{.optimizer = {.first = {.learning_rate = 1e300}}}};
                       trainer.fit(samples(), {.steps = 1, .progress = false});
                     }),
                     "learning rate"));
}
// SPDX-License-Identifier: Apache-2.0
