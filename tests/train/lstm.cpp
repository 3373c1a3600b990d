// The LSTM language models: their counts; gradients, bits and memory; text position by position is that of whole windows.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/models/lstm.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"
#include "support/weights.hpp"
#include "train/other_names.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t words = 11, window = 6;
struct Untied final : LstmModel<words, window, 8, 2, Ratio<1, 4>> {};
struct Plain final : LstmModel<words, window, 8, 2> {};
struct Tied final : TiedLstmModel<words, window, 8, 2, Ratio<1, 4>> {};
struct Whole final : TiedLstmModel<words, window, 8, 2> {};

static_assert(Trainer<Untied, Batch<4>>::plan().parameters == Untied::parameter_count);
static_assert(Trainer<Tied, Batch<4>>::plan().parameters == Tied::parameter_count);
static_assert(programs::InferenceRecipe<LstmLarge, ConfigurationOf<Precision<bf16>, Batch<1>>>::plan.parameters ==
              LstmLarge::parameter_count);

std::vector<double> numbers(auto& trainer) {
  return support::trained(trainer, Fake({.samples = 22, .classes = words}), 4);
}
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Tied, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

template <class T>
void is_that_of_pytorch() {
  regimen::test::reads_what_was_written<pytorch_lstm_names<Untied>, Untied, T>(
      "lstm_language_model", "output", "output",
      [](const auto& recorded, std::int32_t) { return recorded.template values<std::int32_t>("tokens"); });
}

}  // namespace

TEST_CASE("a language model that PyTorch has trained gives the same logits here, and is saved as it was") {
  is_that_of_pytorch<fp32>();
  is_that_of_pytorch<fp64>();
  regimen::test::writes_what_was_read<pytorch_lstm_names<Untied>, Trainer<Untied, Batch<2>>>("lstm_language_model");
}
TEST_CASE("it has the gradients that PyTorch gives it") {
  const regimen::test::Recorded recorded("lstm_language_model/gradients");
  regimen::test::has_their_gradients<pytorch_lstm_names<Plain>,
                                     Trainer<Plain, Batch<3>, Precision<fp64>, Optimizer<Sgd>>>(
      "lstm_language_model", recorded.values<std::int32_t>("tokens"), recorded.values<std::int32_t>("targets"));
}
TEST_CASE("a tied language model reads one table, or two that are equal") {
  const ::test::Directory directory;
  Trainer<Tied, Batch<2>> one, other{{.seed = 2}};
  const std::string path = directory / "model.safetensors";
  names::save<pytorch_lstm_names<Tied>>(one, path);
  const auto with_decoder = [&](float more) {
    const safetensors::File file(path);
    std::vector<safetensors::Tensor> tensors(file.tensors().begin(), file.tensors().end());
    std::vector<float> table(words * 8);
    file.copy<float>("encoder.weight", file.tensor("encoder.weight").shape, table);
    table.back() += more;
    tensors.push_back({"decoder.weight", safetensors::Dtype::F32, {words, 8}, std::as_bytes(std::span(table))});
    safetensors::write(directory / "both.safetensors", tensors);
    names::load<pytorch_lstm_names<Tied>>(other, directory / "both.safetensors");
  };
  with_decoder(0);
  CHECK(support::weights_of<double>(other) == support::weights_of<double>(one));
  CHECK(::test::says(::test::error_of([&] { with_decoder(1); }), "the values of encoder.weight, to which it is tied"));
}
TEST_CASE("an LSTM language model has the gradients of calculus") {
  CHECK(gradient_check<Whole, Batch<2>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
}
TEMPLATE_TEST_CASE("an LSTM language model has the same bits whatever is computed again", "", Untied, Tied) {
  CHECK(trained<TestType, Checkpoint<Every<1>>>() == trained<TestType>());
}
TEST_CASE("an LSTM language model has the same bits under every Shard") {
  const std::vector<double> whole = on_two<>();
  CHECK(on_two<Shard<ZeRO1>>() == whole);
  CHECK(on_two<Shard<ZeRO3>, Checkpoint<Every<1>>>() == whole);
}
TEMPLATE_TEST_CASE("text read position by position is what whole windows make of it", "", Untied, Tied) {
  using Model = Inference<TestType, Batch<1>, Precision<fp64>>;
  static_assert(Model::decodes);
  Model model;
  std::uint64_t index = 0;
  for (const HeldParameter& parameter : model.parameters())
    for (double& value : parameter.template values<double>()) value = double(Philox::mix(7, index++) % 63) / 64 - 0.5;
  model.parameters_changed();
  const std::vector<std::int32_t> text{3, 1, 4, 10, 5, 9};
  const std::vector<double> expected = model.predict(text);
  double worst = 0;
  for (std::size_t t = 0; t < window; ++t) {
    const auto logits = t == 0 ? model.start(std::span(text).first(1)) : model.next(text[t]);
    REQUIRE(logits.size() == words);
    for (std::size_t i = 0; i < words; ++i)
      worst = std::max(worst, std::abs(double(logits[i]) - expected[t * words + i]));
  }
  // Sums of fewer than 32 terms below 1, through two layers and an output: each off by 32 · 2^-53, which a later layer
  // multiplies by at most 8 · 1/2.
  CHECK(worst < 3 * 16 * 32 * 0x1p-53);
}
// SPDX-License-Identifier: Apache-2.0
