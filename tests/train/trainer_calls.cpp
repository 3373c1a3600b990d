// The ways in which programs make a Trainer and call fit and step: none is taken for one of the mistakes that get a
// sentence.
#include "../temporary.hpp"
#include "support/catch.hpp"

#include <regimen/comm/counting.hpp>
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/models/names.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

struct Small : Model<Input<Vector<4>>, Linear<3>> {};
using Train = Trainer<Small, Batch<2>>;
using Ranked = Trainer<Small, Batch<2>, Communicator<Threads>>;
struct Held {
  Train trainer{{.seed = 3}};
};
struct Derived : Train {
  using Train::Train;
};
static_assert(!std::is_copy_constructible_v<Train> && !std::is_copy_assignable_v<Train> &&
              !std::is_copy_constructible_v<Derived>);
constexpr auto small_names = names::list(names::layer("head"));
Train made() { return Train{{.optimizer = {.learning_rate = 1e-3}}}; }

}  // namespace

TEST_CASE("a Trainer is made in many ways") {
  const Train::Options options{.seed = 3};
  Train plain, braces{}, inner{{}}, given{options}, temporary(Train::Options{}), named{{.seed = 3}}, elided = made();
  Train both{{.optimizer = {.learning_rate = 1e-3}, .schedule = Schedule::warmup_cosine(1, 9), .threads = 1}},
      positional{{{2e-3}}};
  Derived derived, with_options{{.seed = 3}};
  const auto kept = std::make_unique<Train>(), kept_too = std::make_unique<Train>(options);
  CHECK(plain.seed() == 1);
  CHECK((braces.seed() == 1 && inner.seed() == 1 && temporary.seed() == 1 && derived.seed() == 1 && kept->seed() == 1));
  CHECK((given.seed() == 3 && named.seed() == 3 && Held().trainer.seed() == 3 && with_options.seed() == 3 &&
         kept_too->seed() == 3));
  CHECK((elided.options().optimizer.learning_rate == 1e-3 && both.options().threads == 1 &&
         positional.options().optimizer.learning_rate == 2e-3));
  launch(1, [](comm::Threads& c) {
    comm::Counting<comm::Threads> counted(c);
    const Ranked::Options own{.seed = 4};
    Ranked alone(c), with_names(c, {.seed = 4}), with_own(c, own), with_nothing{c, {}};
    Ranked around(counted, {.seed = 4});
    CHECK((alone.seed() == 1 && with_names.seed() == 4 && with_own.seed() == 4 && with_nothing.seed() == 1 &&
           around.seed() == 4));
  });
}

TEST_CASE("a plan at run time has samples, ranks and bytes that can be counted") {
  constexpr std::size_t one = 1, most = std::numeric_limits<std::size_t>::max();
  const auto said = [](auto&& plan) {
    std::string error;
    try {
      plan();
    } catch (const Error& thrown) { error = thrown.what(); }
    return error;
  };
  CHECK(said([] { Train::plan(0); }) == "Trainer::plan, batch: expected at least 1 sample, found 0");
  CHECK(said([] { Inference<Small>::plan(0); }) == "Inference::plan, batch: expected at least 1 sample, found 0");
  for (const std::size_t batch : {one << 52, one << 58, one << 60, most}) {
    const std::string expected = "plan, batch: expected samples whose bytes can be counted, found " +
                                 std::to_string(batch) + " samples; plan a smaller batch";
    CHECK(said([&] { Train::plan(batch); }) == "Trainer::" + expected);
    CHECK(said([&] { Inference<Small>::plan(batch); }) == "Inference::" + expected);
  }
  for (const std::size_t ranks : {std::size_t{0}, (one << 20) + 1, most})
    CHECK(said([&] { Ranked::plan(4, ranks); }) ==
          "Trainer::plan, ranks: expected 1 to 1048576, found " + std::to_string(ranks));
  CHECK(Train::plan(one << 47).peak / 2 > Train::plan(one << 46).peak - 4096);
  CHECK(Inference<Small>::plan(one << 47).peak / 2 > Inference<Small>::plan(one << 46).peak - 4096);
  CHECK(Ranked::plan(2, one << 20).peak >= Ranked::plan(2, 2).peak);
}

TEST_CASE("each Trainer takes its own gradients") {
  const std::vector<float> x(4, 1.0f);
  const std::vector<std::int32_t> y{0};
  Train one, other;
  const Gradients of_one = one.backward(one.forward(x, y)), of_other = other.backward(other.forward(x, y));
  CHECK_THROWS_AS(one.apply(of_other), Error);
  CHECK_THROWS_AS(other.apply(of_one), Error);
  CHECK_THROWS_AS(one.backward(other.forward(x, y)), Error);
  CHECK(one.steps_done() + other.steps_done() == 0);
  CHECK(one.apply(of_one).applied);
}

TEST_CASE("fit and step are called in many ways") {
  Train trainer;
  const Fake data({.samples = 4, .classes = 3});
  trainer.fit(data, {.steps = 2, .progress = false});
  trainer.fit(data, FitOptions{.steps = 3, .progress = false});
  trainer.fit(data, data, {.steps = 4, .validate_every = 1, .progress = false});
  trainer.fit(data, {.steps = 5, .progress = false}, [](auto&, const StepResult&) {});
  trainer.fit(data, {6});
  trainer.fit(data, data, {7});
  CHECK_THROWS_AS(trainer.fit(data, {.progress = false}), Error);  // nothing ends the run
  CHECK_THROWS_AS(trainer.fit(data), Error);
  CHECK(trainer.steps_done() == 7);

  std::vector<float> x(4);
  std::vector<std::int32_t> y(1);
  const float array[4] = {};
  const std::int32_t one[1] = {};
  trainer.step(x, y);
  trainer.step(array, one);
  trainer.step({x.data(), 4}, {y.data(), 1});
  trainer.step({x}, {y});
  trainer.step(x, {y.data(), 1});
  trainer.step(std::array<float, 4>{}, std::span(y));
  CHECK(trainer.steps_done() == 13);
}

TEST_CASE("a second thread in a Trainer gets an Error from every member that works; callbacks of fit call them") {
  Train trainer;
  const Fake data({.samples = 8, .classes = 3});
  const std::vector<float> inputs(8, 0.5f);
  const std::vector<std::int32_t> labels{0, 1};
  const ::test::Directory directory;
  trainer.save(directory / "state");
  const auto of_another_thread = [](const auto& call) {
    std::string words;
    std::thread([&] { words = ::test::error_of(call); }).join();
    return words;
  };
  std::size_t refused = 0;
  trainer.fit(data, {.steps = 1, .progress = false}, [&](Train& same, const StepResult&) {
    (void)same.predict(inputs);
    (void)same.evaluate(data);
    same.save(directory / "state");
    const auto refuses = [&](const std::string& who, const auto& call) {
      CHECK(of_another_thread(call) ==
            who +
                ": expected one thread at a time, found a second one, while the first is in a call of this "
                "Trainer; let one thread call it; for predictions give each other thread an Inference of a "
                "saved state");
      ++refused;
    };
    refuses("Trainer::step", [&] { trainer.step(inputs, labels); });
    refuses("Trainer::fit", [&] { trainer.fit(data, {.steps = 1, .progress = false}); });
    refuses("Trainer::evaluate", [&] { (void)trainer.evaluate(data); });
    refuses("Trainer::predict", [&] { (void)trainer.predict(inputs); });
    refuses("Trainer::batches", [&] { (void)trainer.batches(data); });
    refuses("Trainer::forward", [&] { (void)trainer.forward(inputs, labels); });
    refuses("Trainer::abandon", [&] { trainer.abandon(); });
    refuses("Trainer::parameters", [&] { (void)trainer.parameters(); });
    refuses("Trainer::gradients", [&] { (void)trainer.gradients(); });
    refuses("Trainer::gradient_divisor", [&] { (void)trainer.gradient_divisor(); });
    refuses("Trainer::parameters_changed", [&] { trainer.parameters_changed(); });
    refuses("Trainer::save", [&] { trainer.save(directory / "other"); });
    refuses("Trainer::save_in_background", [&] { trainer.save_in_background(directory / "other"); });
    refuses("Trainer::finish_saving", [&] { trainer.finish_saving(); });
    refuses("Trainer::save_whole", [&] { trainer.save_whole(directory / "other"); });
    refuses("Trainer::load", [&] { trainer.load(directory / "state"); });
    refuses("Trainer::load_weights", [&] { trainer.load_weights(directory / "state"); });
    refuses("Trainer::on_all_ranks", [&] { (void)trainer.on_all_ranks(true); });
    refuses("names::load", [&] { names::load<small_names>(trainer, directory / "theirs"); });
    refuses("names::save", [&] { names::save<small_names>(trainer, directory / "theirs"); });
  });
  CHECK(refused == 20);
  CHECK(of_another_thread([&] { trainer.step(inputs, labels); }).empty());  // one thread after another
  CHECK(!::test::error_of([&] { trainer.load(directory / "nowhere"); }).empty());
  CHECK(of_another_thread([&] { trainer.step(inputs, labels); }).empty());  // an exception has left, too
}
// SPDX-License-Identifier: Apache-2.0
