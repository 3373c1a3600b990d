// The programs of docs/inference.md, which quotes this file: a model is trained, saved, loaded, and predicts in several
// threads; a text is generated, with and without a source.
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/models/transformer.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "../temporary.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace serving {

using namespace regimen;

struct Net : Model<Input<Vector<24>>, Linear<256>, Relu, Linear<256>, Relu, Linear<6>> {};
using Controller = Inference<Net, Batch<1>>;

struct Positions {
  std::size_t size(const SampleShape&) const { return 1000; }
  void read(std::size_t index, Sample<float, float> sample) const {
    for (std::size_t i = 0; i < 24; ++i) sample.input[i] = std::sin(float(index + i));
    for (std::size_t i = 0; i < 6; ++i) sample.target[i] = sample.input[i] * sample.input[i + 6];
  }
};

double train_controller(const std::string& path) {
  Trainer<Net, Batch<50>, Loss<MeanSquaredError>> trainer{
      {.optimizer = {.learning_rate = 3e-3}, .schedule = Schedule::warmup_cosine(20, 200)}};
  const Positions positions;
  trainer.fit(positions, {.steps = 200, .progress = false});
  trainer.save(path);
  return trainer.evaluate(positions).loss;
}

double train_by_steps(const std::string& path) {
  Trainer<Net, Batch<50>, Loss<MeanSquaredError>> trainer{
      {.optimizer = {.learning_rate = 3e-3}, .schedule = Schedule::warmup_cosine(20, 200)}};
  std::vector<float> inputs(50 * 24), targets(50 * 6);
  double loss = 0;
  for (std::size_t step = 0; step < 200; ++step) {
    for (std::size_t i = 0; i < 50; ++i)
      Positions().read(Philox::mix(step, i) % 1000,
                       {std::span(inputs).subspan(24 * i, 24), std::span(targets).subspan(6 * i, 6)});
    const StepResult result = trainer.step(inputs, targets);
    if (result.applied) loss = result.loss;
  }
  trainer.save(path);
  return loss;
}

std::vector<float> predict(const std::string& path, const std::vector<float>& position) {
  Controller model(path, 1);  // 1: each call computes with one thread
  return model.predict(position);
}

std::vector<float> predict_in_threads(const std::string& path, const std::vector<std::vector<float>>& positions) {
  std::vector<Controller> models;
  models.emplace_back(path, 1);  // with a thread for each processor, one within a call
  for (std::size_t i = 1; i < positions.size(); ++i) models.push_back(models[0].share());

  std::vector<float> largest(positions.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < positions.size(); ++i)
    threads.emplace_back([&, i] {
      const std::vector<float> output = models[i].predict(positions[i]);
      largest[i] = *std::max_element(output.begin(), output.end());
    });
  for (std::thread& thread : threads) thread.join();
  return largest;
}

using Block =
    Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>, Residual<LayerNorm, Linear<64>, Gelu, Linear<16>>>;
struct Gpt : Model<Input<Tokens<32>>, Embedding<Vocabulary<128>, 16>, PositionEmbedding, Repeat<2, Block>, LayerNorm,
                   Linear<128>> {};

std::string continue_text(const std::string& path, const std::string& beginning) {
  Inference<Gpt, Batch<1>> model(path);
  const std::vector<std::int32_t> prompt(beginning.begin(), beginning.end());
  const std::vector<std::int32_t> tokens =
      generate(model, prompt, 20, {.temperature = 0.8, .top_k = 40, .seed = 1, .end = '\n'});
  return {tokens.begin(), tokens.end()};
}

template <class Model>
std::vector<std::int32_t> most_likely(Model& model, const std::vector<std::int32_t>& prompt, std::size_t count) {
  std::vector<std::int32_t> tokens;
  std::vector<float> logits = model.start(prompt);
  while (tokens.size() < count) {
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    tokens.push_back(static_cast<std::int32_t>(best));
    if (tokens.size() < count) logits = model.next(tokens.back());
  }
  return tokens;
}

struct Sizes : OpusMt {
  static constexpr std::size_t words = 100, width = 16, heads = 2, inner = 32, encoder_depth = 2, decoder_depth = 2;
  static constexpr std::int32_t padding = 99;
};
struct Translator final : TransformerModel<Sizes, 12, 16> {};

template <class Model>
std::vector<std::int32_t> translate(Model& model, const std::vector<std::int32_t>& source) {
  const std::vector<std::int32_t> begin{Sizes::padding};
  return generate(model, source, begin, 15, {.temperature = 0, .vocabulary = 99, .end = 0});
}

struct Gesture : Model<Input<Series<50, 3>>, Lstm<16>, MeanPool, Linear<4>> {};

std::size_t classify(Inference<Gesture, Batch<1>>& model, const std::vector<std::array<float, 3>>& measured) {
  std::vector<float> positions;  // position after position, as many as the model has
  for (const auto& position : measured) positions.insert(positions.end(), position.begin(), position.end());
  const std::vector<float> logits = model.predict(positions);
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace serving

using namespace serving;

namespace {
void fill(auto& model) {
  std::uint64_t index = 0;
  for (const HeldParameter& parameter : model.parameters())
    for (float& value : parameter.values<float>()) value = (float(Philox::mix(7, index++) % 2001) - 1000) / 2000;
  model.parameters_changed();
}
}  // namespace

TEST_CASE("a model is trained, saved, loaded, and predicts, in threads, too") {
  const ::test::Directory directory;
  const std::string path = directory / "net.safetensors";
  // The mean square of a target sin(a) sin(a + 6) is (1 + cos²(6)) / 8 or more, about 0.36: a tenth of it is learnt.
  CHECK(train_by_steps(path) < 0.036);
  CHECK(train_controller(path) < 0.036);
  std::vector<std::vector<float>> positions(3, std::vector<float>(24));
  std::vector<float> expected, largest;
  for (std::size_t p = 0; p < 3; ++p) {
    std::vector<float> target(6);
    Positions().read(100 + p, {positions[p], target});
    const std::vector<float> output = predict(path, positions[p]);
    largest.push_back(*std::max_element(output.begin(), output.end()));
    expected.push_back(*std::max_element(target.begin(), target.end()));
    CHECK(std::abs(largest[p] - expected[p]) < 0.6f);  // three deviations of 0.19, the root of the loss
  }
  CHECK(predict_in_threads(path, positions) == largest);
}

TEST_CASE("texts are continued and translated") {
  const ::test::Directory directory;
  Trainer<Gpt, Batch<2>>({.threads = 1}).save(directory / "gpt.safetensors");
  const std::string text = continue_text(directory / "gpt.safetensors", "once");
  CHECK(!text.empty());
  CHECK(text.size() <= 20);
  CHECK(text == continue_text(directory / "gpt.safetensors", "once"));
  Inference<Gpt, Batch<1>> model(directory / "gpt.safetensors");
  const std::vector<std::int32_t> prompt{1, 2, 3};
  CHECK(most_likely(model, prompt, 9) == generate(model, prompt, 9, {.temperature = 0}));

  Inference<Translator, Batch<1>> translator(1);
  fill(translator);
  const std::vector<std::int32_t> source{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0},
      target = translate(translator, source);
  CHECK(!target.empty());
  CHECK(target == translate(translator, source));

  Inference<Gesture, Batch<1>> gestures(1);
  fill(gestures);
  CHECK(classify(gestures, std::vector<std::array<float, 3>>(50, {0.5f, -0.25f, 1})) < 4);
}
// SPDX-License-Identifier: Apache-2.0
