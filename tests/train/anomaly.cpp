// Debug<Anomaly>: the first layer that is not finite is named; after the exception the last save is loaded and training
// goes on.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/tiny.hpp"

#include <regimen/data/rows.hpp>
#include <regimen/trainers/inference.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

using namespace regimen;

namespace {

using Plain = Trainer<tiny::Gpt, Batch<4>>;
using Checked = Trainer<tiny::Gpt, Batch<4>, Debug<Anomaly>>;

template <class Train>
void run(Train& trainer, int steps) {
  for (int i = 0; i < steps; ++i)
    trainer.step(tiny::tokens(4, trainer.steps_done()), tiny::tokens(4, 50 + trainer.steps_done()));
}

/// Puts a number into the parameter of that name.
template <class Train>
void poison(Train& trainer, const std::string& name, float value) {
  bool found = false;
  for (const auto& parameter : trainer.parameters())
    if (parameter.name == name) {
      parameter.values[1] = value;
      found = true;
    }
  REQUIRE(found);
  trainer.parameters_changed();
}

template <class Train>
void poison_all(Train& trainer, const std::string& name, float value) {
  for (const auto& parameter : trainer.parameters())
    if (parameter.name == name) std::fill(parameter.values.begin(), parameter.values.end(), value);
  trainer.parameters_changed();
}

template <class Action>
std::string standard_error_of(const Action& action) {
  std::fflush(stderr);
  ::test::Directory directory;
  const int kept = ::dup(STDERR_FILENO), file = ::open((directory / "text").c_str(), O_RDWR | O_CREAT, 0600);
  ::dup2(file, STDERR_FILENO);
  action();
  std::fflush(stderr);
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
  ::close(file);
  const ::test::Bytes bytes = ::test::get(directory / "text");
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("a program built with Debug says so when it starts, and only then") {
  CHECK(::test::says(standard_error_of([] { Checked trainer; }), "regimen: Debug<...> is on"));
  CHECK(::test::says(standard_error_of([] { Trainer<tiny::Gpt, Batch<4>, Debug<Profile>> trainer; }),
                     "regimen: Debug<...> is on"));
  CHECK(standard_error_of([] { Plain trainer; }).empty());
  CHECK(standard_error_of([] { Trainer<tiny::Gpt, Batch<4>, Debug<None>> trainer; }).empty());
}

TEST_CASE("looking for anomalies changes no bit") {
  Plain plain;
  Checked checked;
  run(plain, 3);
  run(checked, 3);
  CHECK(tiny::same_bits(std::span<const float>(tiny::weights(plain)), std::span<const float>(tiny::weights(checked))));
}

TEST_CASE("the layer of a poisoned weight is named, forward") {
  // Children of the model: embedding 0, positions 1, repeat 2, norm 3, output 4. Of a block: residual 0 and 1.
  struct Row {
    const char *parameter, *layer;
  };
  const Row row = GENERATE(Row{"1.weight", "output of layer 1 (position_embedding): expected"},
                           Row{"2.0.0.0.weight", "output of layer 2.0.0 (layer_norm), iteration 0"},
                           Row{"2.1.0.1.qkv.weight", "output of layer 2.0.1 (linear), iteration 1"},
                           Row{"2.2.0.1.projection.bias", "output of layer 2.0.3 (linear), iteration 2"},
                           Row{"2.1.1.1.weight", "output of layer 2.1.1 (linear), iteration 1"},
                           Row{"3.bias", "output of layer 3 (layer_norm): expected"});
  const float value = GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  ::test::Directory directory;
  Checked trainer;
  run(trainer, 2);
  trainer.save(directory / "state");
  poison(trainer, row.parameter, value);
  const std::string error = ::test::error_of([&] { run(trainer, 1); });
  INFO(row.parameter << ": " << error);
  CHECK(::test::says(error, row.layer));
  CHECK(::test::says(error, "step 3"));
  CHECK(trainer.steps_done() == 2);

  // Evaluation and prediction look, too.
  CHECK(::test::says(::test::error_of([&] { trainer.predict(tiny::tokens(4, 1)); }), row.layer));

  trainer.load(directory / "state");
  run(trainer, 2);
  Plain whole;
  run(whole, 4);
  CHECK(tiny::same_bits(std::span<const float>(tiny::weights(trainer)), std::span<const float>(tiny::weights(whole))));
}

TEST_CASE("the layer whose gradient is not finite first is named, backward, under every checkpoint schedule") {
  // Inputs of zero keep the outputs at zero, whatever the weights; the gradient grows by 1e30 a layer.
  struct Net : Model<Input<Vector<4>>, Linear<4>, Linear<4>, Linear<4>, Linear<4>> {};
  const auto check = [&]<class Schedule>(Schedule) {
    Trainer<Net, Batch<2>, Debug<Anomaly>, Schedule> trainer;
    for (const auto& parameter : trainer.parameters())
      for (float& value : parameter.values)
        value = parameter.role == ParameterRole::matrix && parameter.name != "0.weight" ? 1e30f : 0;
    for (const auto& parameter : trainer.parameters())
      if (parameter.name == "3.weight")
        parameter.values[0] = -1e30f;  // else the gradients of one target and the others cancel
    trainer.parameters_changed();
    const std::vector<float> zeros(8);
    const std::vector<std::int32_t> targets{0, 1};
    const std::string error = ::test::error_of([&] { trainer.step(zeros, targets); });
    INFO(error);
    CHECK(::test::says(error, "step 1, gradient of layer 2 (linear)"));
    CHECK(trainer.steps_done() == 0);
    const Rows<float, std::int32_t> data(std::vector<float>(40),
                                         std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, 4);
    const auto apply_next = [&] {
      auto loader = trainer.batches(data);
      const auto batch = loader.next();
      trainer.apply(trainer.backward(trainer.forward(batch.input, batch.target)));
    };
    const auto samples = [&] { return trainer.batches(data).place().samples; };
    CHECK(::test::says(::test::error_of(apply_next), "step 1, gradient of layer"));
    CHECK(samples() == 0);
    for (const auto& parameter : trainer.parameters())
      for (float& value : parameter.values) value = 0.1f;
    trainer.parameters_changed();
    CHECK(trainer.step(zeros, targets).applied);
    apply_next();
    CHECK(samples() == 2);
  };
  check(Checkpoint<None>{});
  check(Checkpoint<Selective<Linear<4>>>{});
}

TEST_CASE("the batch of an anomaly is trained when the data are mended") {
  struct Net : Model<Input<Vector<2>>, Linear<3>> {};
  std::vector<float> numbers(40);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = float(i % 7) / 8;
  const std::vector<std::int32_t> labels{0, 1, 2, 2, 1, 0, 0, 1, 2, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 0};
  const Rows<float, std::int32_t> mended(numbers, labels, 2);
  numbers[2 * 9] = std::numeric_limits<float>::infinity();
  const Rows<float, std::int32_t> broken(numbers, labels, 2);
  const auto check = [&](auto&&... callbacks) {
    Trainer<Net, Batch<4>, Debug<Anomaly>> whole, trainer;
    const FitOptions run{.epochs = 2, .progress = false};
    whole.fit(mended, run);
    CHECK(::test::says(::test::error_of([&] { trainer.fit(broken, run, callbacks...); }),
                       "output of layer 0 (linear): expected finite numbers"));
    CHECK(trainer.steps_done() < 5);  // in the first epoch
    CHECK(trainer.batches(mended).place().samples == 4 * trainer.steps_done());
    trainer.fit(mended, run);
    CHECK(trainer.steps_done() == 10);
    CHECK(
        tiny::same_bits(std::span<const float>(tiny::weights(trainer)), std::span<const float>(tiny::weights(whole))));
  };
  check();
  check([](auto&, const StepResult&) {});
}

TEST_CASE("a NaN reaches loss and output through a Relu, and a first layer that only compares is named") {
  struct Net : Model<Input<Vector<4>>, Linear<16>, Relu, Linear<3>> {};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto check = [&](auto trainer) {
    for (const float value : trainer->predict(std::vector<float>(4, nan))) CHECK(std::isnan(value));
    poison_all(*trainer, "0.weight", nan);
    for (const float value : trainer->predict(std::vector<float>(4, 1.0f))) CHECK(std::isnan(value));
    const Rows<float, std::int32_t> data(std::vector<float>(40, 1.0f), std::vector<std::int32_t>(10), 4);
    const Evaluation evaluation = trainer->evaluate(data);
    CHECK(std::isnan(evaluation.loss));
    CHECK(evaluation.accuracy == 0);  // the label is 0, and a row of NaN has no largest number
    const StepResult result = trainer->step(std::vector<float>(8, 1.0f), std::vector<std::int32_t>{0, 1});
    CHECK(std::isnan(result.loss));
    CHECK(std::isnan(result.gradient_norm));
    CHECK_FALSE(result.applied);
  };
  check(std::make_unique<Trainer<Net, Batch<2>>>());
  check(std::make_unique<Trainer<Net, Batch<2>, Fusion<Unfused>>>());
  check(std::make_unique<Trainer<Net, Batch<2>, Precision<bf16, fp32>>>());
  check(std::make_unique<Trainer<Net, Batch<2>, Precision<fp16, fp32>, LossScale<Dynamic>>>());

  struct Bare : Model<Input<Vector<4>>, Relu, Linear<3>> {};
  Trainer<Bare, Batch<2>, Debug<Anomaly>> bare;
  CHECK(::test::says(::test::error_of([&] { bare.step(std::vector<float>(8, nan), std::vector<std::int32_t>{0, 1}); }),
                     "output of layer 0 (relu)"));
}

TEST_CASE("a token outside the vocabulary is named in every build, wherever it comes in") {
  struct Words : Model<Input<Tokens<2>>, Embedding<Vocabulary<5>, 8>, Linear<16>, Relu, Linear<5>> {};
  Trainer<Words, Batch<2>, Accumulate<2>> trainer;
  Inference<Words, Batch<2>> inference;
  inference.parameters_changed();
  const std::vector<std::int32_t> targets{0, 1, 2, 3, 4, 0};
  for (const std::int32_t wrong : {5, -1, ignore_index, -2147483647, 2147483647}) {
    const std::vector<std::int32_t> tokens{0, 4, 1, 2, 3, wrong};  // of sample 2: in the second micro-batch
    const std::string place =
        "token of sample 2, position 1: expected one of the vocabulary's 5, 0 to 4, found " + std::to_string(wrong);
    CHECK(::test::says(::test::error_of([&] { trainer.step(tokens, targets); }), "step 1, " + place));
    CHECK(trainer.steps_done() == 0);
    CHECK(::test::says(::test::error_of([&] { trainer.predict(tokens); }), "Trainer::predict, " + place));
    CHECK(::test::says(::test::error_of([&] { inference.predict(tokens); }), "Inference::predict, " + place));
    const std::vector<std::int32_t> alone{3, wrong};
    CHECK(::test::says(::test::error_of([&] { trainer.forward(alone, std::vector<std::int32_t>{0, 1}); }),
                       "token of sample 0, position 1"));
    trainer.abandon();
  }
  CHECK(trainer.step(std::vector<std::int32_t>{0, 4, 1, 2, 3, 4}, targets).applied);
}

TEST_CASE("a label outside the classes is named in every build, and no layer blamed") {
  struct Net : Model<Input<Vector<4>>, Linear<4>, Linear<3>> {};
  const auto check = [](auto trainer) {
    const std::vector<float> inputs(16);
    for (const std::int32_t wrong : {3, -1, -2147483647, 2147483647}) {
      const std::vector<std::int32_t> labels{0, ignore_index, 2, wrong};
      const std::string error = ::test::error_of([&] { trainer->step(inputs, labels); });
      INFO(error);
      CHECK(
          ::test::says(error, "step 1, label of sample 3: expected one of 3 classes, 0 to 2, or ignore_index, found " +
                                  std::to_string(wrong)));
      CHECK(trainer->steps_done() == 0);
    }
    CHECK(trainer->step(inputs, std::vector<std::int32_t>{0, ignore_index, 2, 1}).applied);
  };
  check(std::make_unique<Trainer<Net, Batch<2>, Accumulate<2>, Debug<Anomaly>>>());
  check(std::make_unique<Trainer<Net, Batch<2>, Accumulate<2>>>());

  Checked gpt;
  std::vector<std::int32_t> labels = tiny::tokens(4, 50);
  labels[tiny::length * 2 + 5] = 11;
  CHECK(::test::says(::test::error_of([&] { gpt.step(tiny::tokens(4, 1), labels); }),
                     "label of sample 2, row 5: expected one of 11 classes"));
}
