// Llama and Qwen against the transformers library: logits, gradients and a training curve from its files, and its naming
// for ours; and the same bits in the planned memory, whatever is computed again and wherever its parts lie.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/weights.hpp"
#include "train/other_names.hpp"

#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/models/llama.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

using namespace regimen;

namespace {

using Scaled = Llama3Scaling<Ratio<8>, Ratio<1>, Ratio<4>, 8>;
using Small = RmsNormWith<Epsilon<Ratio<1, 1'000'000>>>;
struct Llama final
    : LlamaModel<17, 12, 16, 20, 2,
                 SelfAttention<Heads<4>, KeyHeads<2>, Causal, Rotary<Ratio<100>, Scaled>, WithoutBias>, OwnHead> {};
struct Qwen2 final : LlamaModel<17, 12, 16, 20, 2,
                                SelfAttention<Heads<4>, KeyHeads<2>, Causal, Rotary<Ratio<100>>, WithoutProjectionBias>,
                                TiedHead, Small> {};
struct Qwen3 final
    : LlamaModel<
          17, 12, 16, 20, 2,
          SelfAttention<Heads<4>, KeyHeads<2>, HeadWidth<6>, Causal, QueryKeyNorm<>, Rotary<Ratio<100>>, WithoutBias>,
          TiedHead, Small> {};

// The formula of the counts is the model's own list.
template <class Network>
inline constexpr std::size_t counted =
    programs::InferenceRecipe<Network, ConfigurationOf<Precision<bf16>, Batch<1>>>::Bound::layout.count;
static_assert(counted<Llama3_8B<>> == 8'030'261'248 && counted<Llama3_2_3B<>> == 3'212'749'824 &&
              counted<Llama3_2_1B<>> == 1'235'814'400 && counted<Qwen2_5_0_5B<>> == 494'032'768 &&
              counted<Qwen3_0_6B<>> == 596'049'920);
static_assert(counted<Llama> == Llama::parameter_count && counted<Qwen2> == Qwen2::parameter_count &&
              counted<Qwen3> == Qwen3::parameter_count);

struct Recorded final {
  safetensors::File file;
  explicit Recorded(const std::string& name) : file(support::recorded(name + ".safetensors").string()) {}
  template <class T>
  std::vector<T> values(const std::string& name) const {
    const safetensors::Tensor& tensor = file.tensor(name);
    std::vector<T> result(tensor.bytes.size() / sizeof(T));
    file.copy<T>(name, tensor.shape, result);
    return result;
  }
};

/// The largest distance from the truth, in units of its largest element.
template <class T>
double distance(const std::vector<T>& found, const std::vector<double>& truth) {
  REQUIRE(found.size() == truth.size());
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    REQUIRE(std::isfinite(double(found[i])));
    largest = std::max(largest, std::fabs(truth[i]));
    error = std::max(error, std::fabs(double(found[i]) - truth[i]));
  }
  return error / largest;
}
/// Four times as far as PyTorch's own fp32, which sums in another order, and four roundings of the largest element.
double tolerance(const Recorded& from, const std::string& name) {
  return 4 * distance(from.values<float>("fp32." + name), from.values<double>("fp64." + name)) + 4 * 0x1p-24;
}
// In fp64: sums of at most 24 products, each rounded, 2 blocks of 5 products one behind the other and the head; √n of n
// roundings as a rule. Angles are off by at most 2^-34 (see Rotary).
constexpr double exact = 11 * 5 * 0x1p-53 + 0x1p-32;

template <class Network>
void check_logits(const std::string& name) {
  INFO(name);
  const Recorded from(name + "/logits");
  const auto tokens = from.values<std::int32_t>("tokens");
  const auto truth = from.values<double>("fp64.logits");
  const std::string theirs = support::recorded(name + "/model.safetensors").string();
  Inference<Network, Batch<3>> model;
  names::load<hugging_face::llama_names<Network>>(model, theirs);
  CHECK(distance(model.predict(tokens), truth) <= tolerance(from, "logits"));
  Inference<Network, Precision<fp64>, Batch<3>> precise;
  names::load<hugging_face::llama_names<Network>>(precise, theirs);
  CHECK(distance(precise.predict(tokens), truth) <= exact);

  ::test::Directory directory;
  names::save<hugging_face::llama_names<Network>>(model, directory / "model.safetensors");
  const safetensors::File saved(directory / "model.safetensors"), there(theirs);
  CHECK(saved.tensors().size() == there.tensors().size());
  for (const safetensors::Tensor& tensor : there.tensors()) {
    INFO(tensor.name);
    const safetensors::Tensor& found = saved.tensor(tensor.name);
    CHECK((found.shape == tensor.shape && found.dtype == tensor.dtype));
    CHECK(std::equal(found.bytes.begin(), found.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
  // A folder for tests/recorded/check_llama.py, when somebody wants one: other weights than those of the file.
  if (const char* folder = std::getenv("REGIMEN_LLAMA_OUT")) {
    for (const auto& parameter : model.parameters())
      parameter.visit([&]<class T>(std::span<T> values) {
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = T(float(values[i]) + 0.01f * float(std::sin(double(i))));
      });
    model.parameters_changed();
    const std::string out = std::string(folder) + "/" + name;
    std::filesystem::create_directories(out);
    names::save<hugging_face::llama_names<Network>>(model, out + "/model.safetensors", {.largest_file = 8192});
    const auto logits = model.predict(tokens);
    const std::vector<safetensors::Tensor> written{
        {"tokens", safetensors::Dtype::I32, {3, 12}, std::as_bytes(std::span(tokens))},
        {"logits", safetensors::Dtype::F32, {3, 12, 17}, std::as_bytes(std::span(logits))}};
    safetensors::write(out + "/logits.safetensors", written);
  }
}

template <class Network>
void check_gradients(const std::string& name) {
  const Recorded from(name + "/gradients");
  regimen::test::has_their_gradients<hugging_face::llama_names<Network>,
                                     Trainer<Network, Batch<3>, Precision<fp64>, Optimizer<Sgd>>>(
      name, from.values<std::int32_t>("tokens"), from.values<std::int32_t>("targets"));
}

using Numbers = std::vector<double>;
const Fake& fake_data() {
  static const Fake fake({.samples = 24, .classes = 17, .seed = 4});
  return fake;
}
Numbers numbers(auto& trainer) {
  trainer.poison_dead_memory();
  const double loss = trainer.fit(fake_data(), {.steps = 6, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  Numbers all = support::weights_of<double>(trainer);
  all.push_back(loss);
  return all;
}
template <class Network, class... Policies>
Numbers trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class Network, class... Policies>
Numbers on_two(const std::string& file) {
  Numbers found;
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Network, Batch<2>, Communicator<Threads>, Policies...> trainer(ranks);
    names::load<hugging_face::llama_names<Network>>(trainer, support::recorded("llama/model.safetensors").string());
    const auto own = numbers(trainer);
    names::save<hugging_face::llama_names<Network>>(trainer, file);
    if (ranks.rank() == 0) found = own;
  });
  return found;
}

}  // namespace

TEST_CASE("a Llama and two Qwens that transformers saved give the same logits here, and are saved as they were") {
  check_logits<Llama>("llama");
  check_logits<Qwen2>("qwen2");
  check_logits<Qwen3>("qwen3");
}
TEST_CASE("the frequencies of Rotary that old files hold are ignored, with and without the prefix") {
  const std::string theirs = support::recorded("llama/model.safetensors").string();
  const safetensors::File file(theirs);
  const auto tokens = Recorded("llama/logits").values<std::int32_t>("tokens");
  Inference<Llama, Batch<3>> model, other;
  names::load<hugging_face::llama_names<Llama>>(model, theirs);
  ::test::Directory directory;
  const std::vector<float> frequencies(3, 1);
  for (const std::string prefix : {"model.", ""}) {
    std::vector<safetensors::Tensor> tensors(file.tensors().begin(), file.tensors().end());
    for (const std::string name : {"rotary_emb.inv_freq", "layers.1.self_attn.rotary_emb.inv_freq"})
      tensors.push_back({prefix + name, safetensors::Dtype::F32, {3}, std::as_bytes(std::span(frequencies))});
    safetensors::write(directory / "old", tensors);
    names::load<hugging_face::llama_names<Llama>>(other, directory / "old");
    CHECK(other.predict(tokens) == model.predict(tokens));
  }
}
TEST_CASE("a Llama and two Qwens that transformers saved have the same loss and gradients here") {
  check_gradients<Llama>("llama");
  check_gradients<Qwen2>("qwen2");
  check_gradients<Qwen3>("qwen3");
}
TEST_CASE("a small Llama trains as PyTorch's does") {
  const Recorded from("train_llama");
  const auto tokens = from.values<std::int32_t>("tokens"), targets = from.values<std::int32_t>("targets");
  const auto losses = from.values<double>("fp64.losses"), norms = from.values<double>("fp64.gradient_norms");
  REQUIRE(losses.size() == 30);
  Trainer<Llama, Batch<4>, Precision<fp64>> trainer{
      {.optimizer = {.learning_rate = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1}}};
  names::load<hugging_face::llama_names<Llama>>(trainer, support::recorded("llama/model.safetensors").string());
  double worst = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    const StepResult result = trainer.step({tokens.data() + i * 48, 48}, {targets.data() + i * 48, 48});
    worst = std::max(
        {worst, std::fabs(result.loss - losses[i]) / losses[i], std::fabs(result.gradient_norm - norms[i]) / norms[i]});
  }
  // A gradient that is off by `exact` moves a step of AdamW by at most as much of the learning rate where the gradient is
  // not below epsilon; 30 steps add up.
  INFO(worst);
  CHECK(worst <= 30 * 4 * exact);
  ::test::Directory directory;
  names::save<hugging_face::llama_names<Llama>>(trainer, directory / "after");
  const safetensors::File after(directory / "after");
  for (const safetensors::Tensor& tensor : from.file.tensors())
    if (tensor.name.starts_with("final.")) {  // rounded to fp32
      INFO(tensor.name);
      std::vector<double> found(tensor.bytes.size() / 4);
      after.copy<double>(tensor.name.substr(6), tensor.shape, found);
      const auto truth = from.values<float>(tensor.name);
      double error = 0;
      for (std::size_t i = 0; i < found.size(); ++i)
        error = std::max(error, std::fabs(found[i] - double(truth[i])) - std::fabs(found[i]) * 0x1p-24);
      CHECK(error <= 30 * 4 * exact);
    }
}
TEST_CASE("a Llama has the gradients of calculus") {
  CHECK(gradient_check<Llama, Batch<2>, Precision<fp64>>().worst < 1e-6);
}
TEST_CASE("a Llama trains to the same bits in the planned memory, and ranks save one file") {
  ::test::Directory directory;
  const Numbers plain = trained<Llama>();
  CHECK(trained<Llama, Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Llama, Checkpoint<Selective<Silu, RmsNorm>>>() == plain);
  CHECK(on_two<Llama, Shard<ZeRO3>>(directory / "shards") == on_two<Llama>(directory / "copies"));
  CHECK(::test::get(directory / "shards") == ::test::get(directory / "copies"));
}
// SPDX-License-Identifier: Apache-2.0
