// What holds after something unusual: a load under another policy, an exception between forward and apply, a batch
// without
// targets, another Trainer with other threads.
#include <regimen/data/fake.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace regimen;

namespace {

struct Mlp : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<3>> {};
using Plain = Trainer<Mlp, Batch<4>>;
using Moving = Trainer<Mlp, Batch<4>, Precision<fp16, fp32>, LossScale<Dynamic>>;
using Still = Trainer<Mlp, Batch<4>, Precision<fp16, fp32>, LossScale<Static<1024>>>;

const std::vector<float> inputs(20, 0.5f);
const std::vector<std::int32_t> labels{0, 1, 2, 0}, no_targets(4, ignore_index);

template <class Train>
double scale_after_loading(const std::string& path) {
  Train trainer;
  trainer.load(path);
  return trainer.step(inputs, labels).loss_scale;
}

}  // namespace

TEST_CASE("a loss scale comes from a file only where it moves in both runs") {
  const ::test::Directory folder;
  Plain plain;
  plain.step(inputs, labels);
  plain.save(folder / "plain");
  Moving moving;
  for (int i = 0; i < 3; ++i) moving.step(std::vector<float>(20, 1e30f), labels);  // no fp16 number: the scale falls
  const double fallen = moving.step(inputs, labels).loss_scale;
  CHECK(fallen < 32768);
  moving.save(folder / "moving");

  CHECK(scale_after_loading<Moving>(folder / "plain") == 32768);
  CHECK(scale_after_loading<Still>(folder / "moving") == 1024);
  CHECK(scale_after_loading<Still>(folder / "plain") == 1024);
  CHECK(scale_after_loading<Plain>(folder / "moving") == 1);
  CHECK(scale_after_loading<Moving>(folder / "moving") == fallen);
}

TEST_CASE("a batch without valid targets is no step, and no overflow") {
  Moving trainer;
  const std::vector<float> before = trainer.predict(inputs);
  for (int i = 0; i < 3; ++i) {
    const StepResult result = trainer.step(inputs, no_targets);
    CHECK(!result.applied);
    CHECK(result.targets == 0);
    CHECK(std::isnan(result.loss));
    CHECK(std::isnan(result.gradient_norm));
    CHECK(result.loss_scale == 32768);
  }
  CHECK(trainer.predict(inputs) == before);
  CHECK(trainer.step(inputs, labels).targets == 4);
  CHECK(trainer.step(inputs, labels).applied);
}

TEST_CASE("the mean over no target is NaN, for every member that tells one") {
  const Rows<float, std::int32_t> none(inputs, no_targets, 5);
  Plain trainer;
  const Evaluation evaluation = trainer.evaluate(none);
  CHECK(evaluation.targets == 0);
  CHECK(std::isnan(evaluation.loss));
  CHECK(std::isnan(evaluation.accuracy));
  CHECK(std::isnan(trainer.forward(inputs, no_targets).value()));
  trainer.abandon();
  CHECK(std::isnan(trainer.fit(none, {.steps = 2, .progress = false}).loss));
}

TEST_CASE("where some targets are masked, the others are learned, and alone counted") {
  struct Pixels : Model<Input<Image<4, 4, 3>>, Linear<16>, Relu, Linear<4>> {};  // a class for each pixel
  std::vector<float> colours(16 * 16 * 3);
  std::vector<std::int32_t> classes(16 * 16), others(16 * 16);
  std::size_t valid = 0;
  for (std::size_t i = 0; i < colours.size(); ++i) colours[i] = float((i * 2654435761u >> 8) % 1000) / 500 - 1;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    others[i] = (colours[3 * i] > 0) + 2 * (colours[3 * i + 1] > 0);
    classes[i] = i % 3 == 0 ? ignore_index : others[i];
    valid += i % 3 != 0;
  }
  Trainer<Pixels, Batch<8>> trainer{{.optimizer = {.learning_rate = 1e-2}}};
  const Rows<float, std::int32_t> data(colours, classes, 48);
  std::size_t counted = 0;
  trainer.fit(data, {.epochs = 100, .progress = false},
              [&](auto&, const StepResult& step) { counted += step.targets; });
  CHECK(counted == 100 * valid);
  const Evaluation found = trainer.evaluate(data);
  CHECK(found.targets == valid);
  CHECK(found.accuracy > 0.9);
  CHECK(trainer.evaluate(Rows<float, std::int32_t>(colours, others, 48)).accuracy >
        0.8);  // also where the classes were hidden
}

TEST_CASE("fit tells the loss of its own last step, NaN when it made none or diverged") {
  const Rows<float, std::int32_t> some(inputs, labels, 5);
  Plain trainer;
  double last = 0;
  const Fitted first = trainer.fit(some, some, {.steps = 3, .progress = false},
                                   [&](auto&, const StepResult& step) { last = step.loss; });
  CHECK(first.loss == last);
  CHECK(std::isfinite(first.validation_loss));
  const Fitted again = trainer.fit(some, {.steps = 3, .progress = false});
  CHECK(again.steps == 3);
  CHECK(std::isnan(again.loss));
  CHECK(std::isnan(again.validation_loss));
  Trainer<Mlp, Batch<4>, Optimizer<Sgd>> diverging{{.optimizer = {.learning_rate = 1e30}}};
  CHECK_FALSE(std::isfinite(diverging.fit(some, {.steps = 30, .progress = false}).loss));
}

TEST_CASE("a step that an exception cut short by hand is forgotten by load and by abandon") {
  const ::test::Directory folder;
  Plain trainer, other;
  trainer.save(folder / "state");
  const auto broken = [&] {
    try {
      const auto loss = trainer.forward(inputs, labels);
      trainer.backward(loss);
      throw std::runtime_error("the user's");
    } catch (const std::runtime_error&) {}
  };
  broken();
  CHECK_THROWS_AS(trainer.step(inputs, labels), Error);
  trainer.load(folder / "state");
  CHECK(trainer.step(inputs, labels).loss == other.step(inputs, labels).loss);
  broken();
  trainer.abandon();
  CHECK(trainer.step(inputs, labels).loss == other.step(inputs, labels).loss);
}

TEST_CASE("patience goes on where it was") {
  const Fake data({.samples = 16, .classes = 3, .seed = 2}), validation({.samples = 8, .classes = 3, .seed = 9});
  const FitOptions run{.steps = 300, .validate_every = 1, .patience = 20, .progress = false};
  const auto options = [] {
    return Plain::Options{.optimizer = {.learning_rate = 0.05}, .schedule = Schedule::constant()};
  };
  Plain whole(options());
  const Fitted expected = whole.fit(data, validation, run);
  CHECK(expected.stopped_early);
  CHECK(expected.steps > 22);
  for (const std::uint64_t at : {std::uint64_t{3}, expected.steps - 10, expected.steps - 1}) {
    for (const bool in_evaluation : {false, true}) {
      INFO("saved at step " << at << (in_evaluation ? ", by evaluation" : ", by step"));
      const ::test::Directory folder;
      Plain first(options());
      first.fit(
          data, validation, run,
          [&](Plain& trainer, const StepResult& result) {
            if (result.step == at && !in_evaluation) trainer.save(folder / "state");
            return result.step != at || in_evaluation;
          },
          [&](Plain& trainer, const Evaluation&) {
            if (trainer.steps_done() == at && in_evaluation) trainer.save(folder / "state");
            return trainer.steps_done() != at;
          });
      Plain between(options()), second(options());
      between.load(folder / "state");
      between.save(folder / "state");  // what only passes a state on loses nothing of it
      second.load(folder / "state");
      const Fitted resumed = second.fit(data, validation, run);
      CHECK(resumed.steps == expected.steps);
      CHECK(resumed.validation_loss == expected.validation_loss);
    }
  }
}

TEST_CASE("under another batch a run goes on with the sample that was next") {
  const ::test::Directory folder;
  const Fake data({.samples = 64, .classes = 3});
  Plain trainer;
  trainer.fit(data, {.steps = 8, .progress = false});  // 32 samples
  trainer.save(folder / "state");
  const auto left = [&]<class Train>(Train other) {
    other->load(folder / "state");
    std::size_t samples = 0;
    auto loader = other->batches(data, {.epochs = 1});
    for (auto next = loader.next(); next; next = loader.next()) samples += next.samples;
    return samples;
  };
  CHECK(left(std::make_unique<Trainer<Mlp, Batch<8>>>()) == 32);
  CHECK(left(std::make_unique<Trainer<Mlp, Batch<2>>>()) == 32);
  CHECK(left(std::make_unique<Plain>()) == 32);
}

TEST_CASE("threads belong to a Trainer, not to the thread that calls it, and decide no bit") {
  struct Wide : Model<Input<Vector<256>>, Linear<512>> {};  // its update is work for four threads
  using Train = Trainer<Wide, Batch<4>>;
  const int before = regimen::thread_count();
  const ::test::Directory folder;
  const std::vector<float> input(4 * 256, 0.5f);
  const auto helpers_of_a_step = [&](const char* name, int threads) {
    Train trainer({.threads = threads});
    CHECK(regimen::thread_count() == before);
    std::ptrdiff_t helpers = 0;
    std::thread([&] {  // which has no helpers yet
      const auto count = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); };
      const std::ptrdiff_t others = count();
      trainer.step(input, labels);
      helpers = count() - others;
    })
        .join();
    trainer.save(folder / name);
    return helpers;
  };
  CHECK(helpers_of_a_step("one", 1) == 0);
  CHECK(helpers_of_a_step("two", 2) == 1);
  CHECK(helpers_of_a_step("four", 4) == 3);
  CHECK(regimen::thread_count() == before);
  const auto bytes = [&](const char* name) {
    std::ifstream file(folder / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(bytes("one").size() > 256 * 512 * 4);
  CHECK(bytes("two") == bytes("one"));
  CHECK(bytes("four") == bytes("one"));
}

TEST_CASE("absurd numbers of batches and threads ahead are refused") {
  Plain trainer;
  const Fake data({.samples = 64, .classes = 3});
  CHECK_THROWS_AS(trainer.fit(data, {.steps = 8, .ahead = ~std::size_t{0}, .progress = false}), Error);
  CHECK_THROWS_AS(trainer.fit(data, {.steps = 8, .workers = 1'000'000, .progress = false}), Error);
}
// SPDX-License-Identifier: Apache-2.0
