// Whole programs around one mistake: one error, whatever else they contain.
#include <regimen/regimen.hpp>

#include <regimen/comm/launch.hpp>
#include <regimen/data/choose.hpp>
#include <regimen/data/samples.hpp>
#include <regimen/models/gpt2.hpp>
#include <regimen/models/names.hpp>
#include <regimen/tune/ensemble.hpp>
#include <regimen/tune/search.hpp>
#include <regimen/watch/checkpoints.hpp>
#include <regimen/watch/find_rate.hpp>
#include <regimen/watch/history.hpp>
#include <regimen/watch/keep_best.hpp>
#include <regimen/watch/metrics.hpp>
#include <regimen/watch/report.hpp>
#include <regimen/watch/run_text.hpp>
#include <regimen/watch/tensorboard.hpp>

#include <cstdio>
#include <vector>

using namespace regimen;

// ---- rejected_program -----------------------------------------------------------------------------------------------
// A whole program around a recipe that does not compose: one error, whatever else the program contains.
// expect: Precision<fp16, \.\.\.> needs a loss scale; add LossScale<Dynamic>, or compute in bf16
// names: regimen::Precision<regimen::fp16,
namespace rejected_program {
struct Net : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>, Precision<fp16, fp32>, Optimizer<Sgd>, LossScale<Dynamic>>;
#else
using Train = Trainer<Net, Batch<8>, Precision<fp16, fp32>, Optimizer<Sgd>>;
#endif

static_assert(Train::plan().fits(targets::h200{}));
static_assert(Train::plan().peak < 1_GiB);

int program() {
  constexpr auto plan = Train::plan();
  std::printf("%zu bytes\n%s", plan.peak, plan.table().c_str());
  Train trainer{{.optimizer = {.learning_rate = 3e-4, .momentum = 0.9}, .seed = 2}};
  Train::Options options;
  options.optimizer.learning_rate = 1e-3;
  Train other{options};
  Train plain;

  const Fake data{{.samples = 64, .classes = 4}};
  trainer.fit(data, {.steps = 100});
  trainer.fit(data, data, {.steps = 200, .validate_every = 50});
  FitOptions run;
  run.epochs = 3;
  other.fit(data, data, run, [](auto&, const StepResult& step) { return step.loss < 100; });
  other.fit(data, {.epochs = 4}, [](auto&, const auto&) {});

  std::vector<Train::Input> inputs(Train::batch * Train::input_size);
  std::vector<Train::Label> targets(Train::batch * Train::target_size);
  const StepResult result = plain.step(inputs, targets);
  std::printf("step %zu: %f, |g| %f\n", static_cast<std::size_t>(result.step), result.loss, result.gradient_norm);
  const double loss = plain.step(inputs, targets).loss;
  const auto gradients = plain.unscale(plain.backward(plain.scale(plain.forward(inputs, targets))));
  plain.apply(gradients);

  for (auto& parameter : trainer.parameters()) {
    float sum = 0;
    for (const float value : parameter.values) sum += value;
    std::printf("%s of %zu extents: %f\n", parameter.name.c_str(), parameter.shape.size(), sum);
  }
  const auto outputs = trainer.predict(inputs);
  std::printf("%f of %zu, %f, %f\n", outputs[0], outputs.size(), loss, trainer.evaluate(data).accuracy);
  trainer.save("state.safetensors");
  trainer.load("state.safetensors");
  trainer.save_in_background("state.safetensors");
  trainer.finish_saving();
  auto loader = trainer.batches(data, {.epochs = 1});
  for (auto batch = loader.next(); batch; batch = loader.next()) {
    trainer.step(batch.input, batch.target);
    if (batch.samples == 0 || trainer.gradient_divisor() < 0) trainer.abandon();
  }
  std::printf("%zu and %zu bytes\n", trainer.used().peak, trainer.used().library);
  return trainer.evaluate(data).loss < 2.0 ? 0 : 1;
}
}  // namespace rejected_program

// ---- rejected_functions ---------------------------------------------------------------------------------------------
// All that takes a Trainer beside its members, around a recipe that does not compose: one error, whatever else the program
// contains.
// expect: Precision<fp16, \.\.\.> needs a loss scale; add LossScale<Dynamic>, or compute in bf16
// names: regimen::Precision<regimen::fp16,
namespace rejected_functions {
struct Gpt : Gpt2Model<16, 8, 8, 2, 1> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Gpt, Precision<fp16, fp32>, LossScale<Dynamic>>;
#else
using Train = Trainer<Gpt, Precision<fp16, fp32>>;
#endif

constexpr auto of_gpt = names::list(
    names::layer("wpe"), names::repeat(1, "h.{}.", names::layer("ln_1"), names::layer("qkv"), names::layer("out"),
                                       names::layer("ln_2"), names::layer("up"), names::layer("down")),
    names::layer("ln_f"), names::tensor("wte.weight"));

void program() {
  Train trainer;
  names::load<of_gpt>(trainer, "gpt.safetensors");
  names::save<of_gpt>(trainer, "gpt.safetensors");
  names::save<of_gpt>(trainer, "gpt.safetensors", {.largest_file = 1'000'000});
  hugging_face::load(trainer, "gpt2.safetensors");
  hugging_face::save(trainer, "gpt2.safetensors");

  const Text data("text");
  const RateSweep sweep = find_rate(trainer, data, {.from = 1e-6});
  std::printf("%f %f\n", sweep.steepest(), find_rate(trainer, data).steepest());

  History history;
  KeepBest<Train> best;
  Checkpoints checkpoints("states", {.every = 10});
  TensorBoard board("runs");
  HtmlReport report("report.html");
  trainer.fit(data, data.blocks(), {.steps = 3}, history, best, checkpoints, board, report,
              [](auto& now, const Evaluation& found) { std::printf("%f %s\n", found.loss, run_text(now).c_str()); });
  best.restore(trainer);
  Perplexity perplexity;
  trainer.evaluate(data, perplexity);
  const std::string page = report_html(trainer, history), note = run_text(trainer, "a note");
  std::printf("%s\n%s\n", page.c_str(), note.c_str());

  const std::vector<std::int32_t> prompt{1};
  std::vector<std::int32_t> text = generate(trainer, prompt, 3);
  text = generate(trainer, prompt, 3, {.temperature = 0});

  tune::Search<tune::Recipes<Train>> search(
      "search", tune::Random{.trials = 20}, {tune::log_uniform("learning_rate", 1e-4, 1e-1)},
      [](auto& options, const tune::Values& values) { options.optimizer.learning_rate = values["learning_rate"]; },
      {.run = {.steps = 1000}, .at_once = 2});
  const tune::Found found = search.run(data, data.blocks());
  const tune::Tested tested = search.test(data);
  std::printf("%s\n%s %zu %f\n", found.table().c_str(), search.state_of(found.best()).c_str(), search.trials().axes().size(),
              tested.found.loss);
}
}  // namespace rejected_functions

// ---- borrows_no_temporary_trials ------------------------------------------------------------------------------------
// The trials of a search that is gone at the end of the line.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::tune::Search<
namespace borrows_no_temporary_trials {
struct Net : Model<Input<Vector<4>>, Linear<3>> {};
using Search = tune::Search<tune::Recipes<Trainer<Net>>>;

std::size_t axes() {
  const tune::Random plan{.trials = 20};
  const std::vector<tune::Axis> rates{tune::log_uniform("learning_rate", 1e-4, 1e-1)};
  const auto change = [](auto& options, const tune::Values& values) {
    options.optimizer.learning_rate = values["learning_rate"];
  };
#ifndef REGIMEN_MISUSE
  const Search search("search", plan, rates, change, {.run = {.steps = 1000}});
  const auto& trials = search.trials();
#else
  const auto& trials = Search("search", plan, rates, change, {.run = {.steps = 1000}}).trials();
#endif
  return trials.axes().size();
}
}  // namespace borrows_no_temporary_trials

// ---- stage_stands_on_dataset_vector ---------------------------------------------------------------------------------
// Stages on a vector, which has no keys and no name, and a Trainer that reads them.
// expect: a stage stands on a dataset; give it size\(\) const, at\(data::Key\) const and name\(\) const
// names: std::vector<int
namespace stage_stands_on_dataset_vector {
struct Net : Model<Input<Vector<1>>, Linear<2>> {};
using Train = Trainer<Net>;
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

void program() {
#ifndef REGIMEN_MISUSE
  const Numbers numbers;
#else
  const std::vector<int> numbers(100);
#endif
  const auto write = [](int number, Sample<float, std::int32_t> sample) {
    sample.input[0] = float(number);
    sample.target[0] = number % 2;
  };
  Train trainer;
  trainer.fit(numbers | data::shuffle(1) | data::samples(write), {.steps = 3});
}
}  // namespace stage_stands_on_dataset_vector

// ---- rejected_ranks -------------------------------------------------------------------------------------------------
// A program of several ranks around a recipe that does not compose: one error, whatever each rank's Trainer is asked.
// expect: this Shard<\.\.\.> would ignore an option; Prefetch<0\|1> and KeepSegments are for ZeRO3 and Hybrid, Bucket<1 or more> for Replicated
// names: regimen::Shard<regimen::ZeRO1, regimen::Prefetch<0>
namespace rejected_ranks {
struct Net : Model<Input<Vector<6>>, Linear<6>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<1>, Communicator<Threads>, Shard<ZeRO3, Prefetch<0>>, Debug<Profile>>;
#else
using Train = Trainer<Net, Batch<1>, Communicator<Threads>, Shard<ZeRO1, Prefetch<0>>, Debug<Profile>>;
#endif

static_assert(!Train::scales_loss && Train::serves<Fake>);

void program() {
  launch(2, [](comm::Threads& communicator) {
    Train trainer(communicator, {.optimizer = {.learning_rate = 1e-2}});
    const std::vector<float> inputs(Train::input_size);
    const std::vector<int> targets(Train::target_size);
    const StepResult result = trainer.step({inputs.data(), inputs.size()}, {targets.data(), targets.size()});
    const UnscaledLoss loss = trainer.forward({inputs.data(), inputs.size()}, targets);
    const Gradients gradients = trainer.backward(loss);
    if (trainer.apply(gradients).loss > result.loss) trainer.abandon();
    const std::vector<float> outputs = trainer.predict({inputs.data(), inputs.size()});

    for (const NamedParameter<Train::Reduce>& parameter : trainer.gradients()) std::printf("%s\n", parameter.name.c_str());
    OperationTimes& times = trainer.profile();
    times.clear();
    const auto& options = trainer.options();
    const auto& plan = trainer.planned();
    const std::size_t extents = Train::sample_shape().input, least = Train::plan(1, 8).peak;
    std::printf("%f %f %zu %zu %zu\n", options.optimizer.learning_rate, static_cast<double>(outputs[0]), plan.peak, least, extents);

    const Fake data{{.samples = 64, .classes = 6}};
    auto loader = trainer.batches(data, {.epochs = 1});
    if (const auto batch = loader.next()) trainer.step(batch.input, batch.target);
    trainer.evaluate(data, 2);
    if (trainer.on_all_ranks(trainer.seed() == 1)) trainer.save_in_background("state", std::chrono::seconds(9));
    trainer.save_whole({"weights"});
    trainer.load_weights("weights");
    trainer.parameters_changed();
  });
}
}  // namespace rejected_ranks

// ---- rejected_inference ---------------------------------------------------------------------------------------------
// A whole program around an Inference that trains: one error, whatever else the program contains.
// expect: Inference trains nothing; keep Precision, Batch, Device, Target, Fusion, Attention, Convolution
// names: regimen::Optimizer<regimen::AdamW
namespace rejected_inference {
using Attend = SelfAttention<Heads<2>, Causal>;
struct Net : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Repeat<2, Residual<LayerNorm, Attend>>, Linear<16>> {};

#ifndef REGIMEN_MISUSE
using Model16 = Inference<Net, Batch<1>>;
#else
using Model16 = Inference<Net, Batch<1>, Optimizer<AdamW>>;
#endif

static_assert(Model16::decodes && Model16::plan().peak < 1_GiB);

void program() {
  Model16 model{"net.safetensors", 2};
  const std::vector<std::int32_t> prompt(Model16::input_size);
  std::vector<float> logits = model.predict({prompt.data(), prompt.size()});
  logits = model.start({prompt.data(), 1});
  logits = model.next(prompt[0]);
  for (const HeldParameter& parameter : model.parameters()) {
    parameter.visit([](auto values) { std::printf("%zu\n", values.size()); });
    if (parameter.element == ElementType::float32) parameter.values<float>()[0] = 0;
  }
  model.parameters_changed();
  const std::vector<std::int32_t> text = generate(model, prompt, 20, {.temperature = 0.8});
  model.load({"other.safetensors"});
  std::printf("%zu %zu %zu %f\n", text.size(), model.used().peak, Model16::plan(4).peak, static_cast<double>(logits[0]));
}
}  // namespace rejected_inference

// ---- rejected_functions_inference -----------------------------------------------------------------------------------
// All that takes an Inference beside its members, around one that trains: one error, whatever else the program contains.
// expect: Inference trains nothing; keep Precision, Batch, Device, Target, Fusion, Attention, Convolution
// names: regimen::Optimizer<regimen::AdamW
namespace rejected_functions_inference {
struct Gpt : Gpt2Model<16, 8, 8, 2, 1> {};

#ifndef REGIMEN_MISUSE
using Served = Inference<Gpt, Batch<1>>;
#else
using Served = Inference<Gpt, Batch<1>, Optimizer<AdamW>>;
#endif

constexpr auto of_gpt = names::list(
    names::layer("wpe"), names::repeat(1, "h.{}.", names::layer("ln_1"), names::layer("qkv"), names::layer("out"),
                                       names::layer("ln_2"), names::layer("up"), names::layer("down")),
    names::layer("ln_f"), names::tensor("wte.weight"));

void program() {
  Served model;
  names::load<of_gpt>(model, "gpt.safetensors");
  names::save<of_gpt>(model, "gpt.safetensors");
  hugging_face::load(model, "gpt2.safetensors");
  hugging_face::save(model, "gpt2.safetensors");
  const std::vector<std::int32_t> prompt{1}, text = generate(model, prompt, 3);

  Ensemble<Served> members({"a.safetensors", "b.safetensors"}, 2);
  std::vector<float> outputs = members.predict(prompt);
  outputs = members.probabilities(prompt);
  const Ensemble<Inference<Gpt>, Served> both({"a.safetensors", "b.safetensors"});
  std::printf("%zu %zu %f %zu\n", text.size(), outputs.size(), members.evaluate(Text("text")).loss, both.members());
}
}  // namespace rejected_functions_inference

// ---- trainer_program ------------------------------------------------------------------------------------------------
// A whole program with one mistake: a number of heads that does not divide the channels.
// expect: Heads<N> cuts the width into N equal heads; write an N that divides the width
// names: regimen::Heads<5>
// names: regimen::Shape<64, 128>
// alone: every compiler compiles its cure
namespace trainer_program {
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<4>, Causal>;
#else
using Attend = SelfAttention<Heads<5>, Causal>;
#endif

using Block = Sequential<Residual<LayerNorm, Attend>, Residual<LayerNorm, Linear<512>, GeluTanh, Linear<128>>>;
struct Gpt : Model<Input<Tokens<64>>, Embedding<Vocabulary<256>, 128>, PositionEmbedding, Repeat<4, Block>, LayerNorm, Linear<256>> {};
using Train = Trainer<Gpt, Batch<12>, Optimizer<AdamW>, Precision<bf16, fp32>, Checkpoint<Every<2>>>;

void program() {
  Train trainer{{.optimizer = {.learning_rate = 1e-3}}};
  trainer.fit(Text{"input.txt"}, {.steps = 2000});
  trainer.save("gpt.safetensors");
}
}  // namespace trainer_program
// SPDX-License-Identifier: Apache-2.0
