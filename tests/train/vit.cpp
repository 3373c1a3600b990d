// Vision transformers of the published sizes, and small ones: what they take is what is planned, and neither a block
// of the program's own, nor recomputation, nor sharding changes a bit. timm has the same logits, and learns the same.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/models/vit.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"
#include "temporary.hpp"
#include "train/other_names.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

template <class Network>
inline constexpr std::size_t planned_parameters =
    programs::InferenceRecipe<Network, ConfigurationOf<Precision<bf16>, Batch<1>>>::plan.parameters;
static_assert(planned_parameters<VitTiny16> == 5'717'416);
static_assert(planned_parameters<VitBase16> == 86'567'656);
static_assert(planned_parameters<Vit1B> == 1'263'558'120);
static_assert(planned_parameters<Vit800M> == 809'516'008);

struct OfToken : VitOf {
  static constexpr std::size_t image = 8, patch = 4, width = 16, heads = 2, depth = 2, classes = 5;
  using MlpRatio = Ratio<5, 2>;
};
struct OfMean : OfToken {
  static constexpr bool class_token = false;
};
static_assert(planned_parameters<VitModel<OfToken>> == vit_parameters<OfToken> && vit_hidden<OfToken> == 40);
static_assert(planned_parameters<VitModel<OfMean>> == vit_parameters<OfMean>);

template <class Of>
using AgainBlock = Checkpointed<VitBlock<Of>>;
struct Token final : VitModel<OfToken> {};
struct TokenAgain final : VitModel<OfToken, AgainBlock> {};
struct Mean final : VitModel<OfMean> {};

std::vector<double> numbers(auto& trainer) {
  return support::trained(trainer, Fake({.samples = 24, .classes = 5, .seed = 4}), 4);
}
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class Network, class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Network, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

/// The recorded ones.
struct OfRecorded : VitOf {
  static constexpr std::size_t image = 8, patch = 4, width = 8, heads = 2, depth = 2, classes = 5;
};
struct OfRecordedMean : OfRecorded {
  static constexpr bool class_token = false;
};
struct Recorded final : VitModel<OfRecorded, AgainBlock> {};
struct RecordedMean final : VitModel<OfRecordedMean> {};

template <class T>
std::vector<T> recorded(const std::string& path, const std::string& name) {
  const safetensors::File file(support::recorded(path).string());
  const auto& shape = file.tensor(name).shape;
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  std::vector<T> values(size);
  file.copy<T>(name, shape, values);
  return values;
}
std::string model_file(const std::string& folder) { return support::recorded(folder + "/model.safetensors").string(); }

/// As in gpt2.cpp: sums of at most 48 products, rounded in fp32, through 2 blocks of 2 branches of 2 products and the
/// two around them, one behind the other: errors of sqrt(48) < 7 times 2^-24 each, relative to the largest logit.
constexpr double tolerance = 10 * 7 * 0x1p-24;

void compare_logits(auto& trainer, const std::string& folder) {
  names::load<timm::vit_names<typename std::remove_reference_t<decltype(trainer)>::Recipe::Network>>(
      trainer, model_file(folder));
  const auto found = trainer.predict(recorded<float>(folder + "/logits.safetensors", "images"));
  const auto truth = recorded<double>(folder + "/logits.safetensors", "fp64.logits");
  REQUIRE(found.size() == truth.size());
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    REQUIRE(std::isfinite(found[i]));
    largest = std::max(largest, std::fabs(truth[i]));
    error = std::max(error, std::fabs(double(found[i]) - truth[i]));
  }
  INFO(error / largest);
  CHECK(error <= tolerance * largest);
}

template <class Network>
void compare_gradients(const std::string& folder) {
  const regimen::test::Recorded from(folder + "/gradients");
  using Train = Trainer<Network, Batch<4>, Precision<fp64>, Optimizer<Sgd>>;
  const auto images = from.values<float>("images");
  regimen::test::has_their_gradients<timm::vit_names<Network>, Train>(
      folder, std::vector<double>(images.begin(), images.end()), from.values<std::int32_t>("targets"));
}

/// 30 steps from timm's weights. In fp32 losses and norms may be eight times as far from the truth as PyTorch's are at
/// most, and the weights eight times as far as its own; in fp64 they are the truth, of which the file has the weights in
/// fp32.
template <class T>
void compare_curve() {
  INFO(name_of<T>);
  const std::string results = "vit/train.safetensors";
  const auto images = recorded<float>("vit/logits.safetensors", "images");
  const auto which = recorded<std::int32_t>(results, "which"), targets = recorded<std::int32_t>(results, "targets");
  using Train = Trainer<Recorded, Batch<4>, Precision<T>, Optimizer<Adam>>;
  Train trainer{{.optimizer = {.learning_rate = 3e-3}}};
  trainer.poison_dead_memory();
  names::load<timm::vit_names<Recorded>>(trainer, model_file("vit"));
  constexpr bool exact = std::is_same_v<T, fp64>;
  constexpr std::size_t size = Train::input_size;
  const auto check = [&](const char* name, const std::vector<double>& found) {
    const auto truth = recorded<double>(results, std::string("fp64.") + name);
    const auto theirs = recorded<float>(results, std::string("fp32.") + name);
    double noise = 0, error = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      noise = std::max(noise, std::fabs(double(theirs[i]) - truth[i]));
      error = std::max(error, std::isfinite(found[i]) ? std::fabs(found[i] - truth[i]) : 1);
    }
    INFO(name << " off by " << error << ", PyTorch's by " << noise);
    CHECK(error <= (exact ? 1e-10 : 8 * noise));
  };
  std::vector<double> losses, norms;
  for (std::size_t step = 0; step < 30; ++step) {
    std::vector<T> inputs;
    for (std::size_t s = 4 * step; s < 4 * step + 4; ++s)
      for (std::size_t i = 0; i < size; ++i) inputs.push_back(images[static_cast<std::size_t>(which[s]) * size + i]);
    const StepResult result = trainer.step(inputs, {targets.data() + 4 * step, 4});
    losses.push_back(result.loss);
    norms.push_back(result.gradient_norm);
  }
  CHECK(trainer.used().peak == Train::plan().peak);
  check("losses", losses);
  check("gradient_norms", norms);

  const ::test::Directory directory;
  names::save<timm::vit_names<Recorded>>(trainer, directory / "model");
  const safetensors::File ours(directory / "model"), file(support::recorded(results).string());
  const double drift = std::stod(std::string(file.value("fp32_final_difference")));
  for (const safetensors::Tensor& tensor : ours.tensors()) {
    const auto truth = recorded<float>(results, "final." + tensor.name);
    CHECK(tensor.shape == file.tensor("final." + tensor.name).shape);
    std::vector<T> found(truth.size());
    ours.copy<T>(tensor.name, tensor.shape, found);
    const bool has_keys = tensor.name.ends_with("qkv.bias");  // whose gradient is rounding noise in fp32
    double worst = 0;
    for (std::size_t i = 0; i < truth.size(); ++i)
      if (exact || !has_keys || i < truth.size() / 3 || i >= truth.size() / 3 * 2)
        worst = std::max(worst, std::fabs(double(found[i]) - double(truth[i])) /
                                    (exact ? 1e-9 + std::fabs(double(truth[i])) * 0x1p-24 : 8 * drift));
    INFO(tensor.name << ": " << worst << " of the bound");
    CHECK(worst <= 1);
  }
}

}  // namespace

TEST_CASE("timm's vision transformers have the same logits here, and the same file comes back") {
  Trainer<Recorded, Batch<6>> trainer;
  compare_logits(trainer, "vit");
  Inference<RecordedMean, Batch<6>> mean;
  compare_logits(mean, "vit_mean");

  const ::test::Directory directory;
  names::save<timm::vit_names<Recorded>>(trainer, directory / "model");
  const safetensors::File ours(directory / "model"), theirs(model_file("vit"));
  REQUIRE(ours.tensors().size() == theirs.tensors().size());
  for (const safetensors::Tensor& tensor : theirs.tensors()) {
    const safetensors::Tensor& found = ours.tensor(tensor.name);
    CHECK(found.shape == tensor.shape);
    CHECK(std::equal(found.bytes.begin(), found.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
  // A folder for tests/recorded/check_vit.py, when somebody wants one.
  if (const char* folder = std::getenv("REGIMEN_VIT_OUT")) {
    const auto images = recorded<float>("vit/logits.safetensors", "images");
    Trainer<Recorded, Batch<6>> own{{.seed = 5}};
    own.step(images, std::vector<std::int32_t>{0, 1, 2, 3, 4, 0});
    names::save<timm::vit_names<Recorded>>(own, std::string(folder) + "/model.safetensors");
    const auto logits = own.predict(images);
    const std::vector<safetensors::Tensor> written{
        {"images", safetensors::Dtype::F32, {6, 8, 8, 3}, std::as_bytes(std::span(images))},
        {"logits", safetensors::Dtype::F32, {6, 5}, std::as_bytes(std::span(logits))}};
    safetensors::write(std::string(folder) + "/logits.safetensors", written);
  }
}

TEST_CASE("timm's vision transformers have the same gradients here") {
  compare_gradients<Recorded>("vit");
  compare_gradients<RecordedMean>("vit_mean");
}
TEST_CASE("a vision transformer learns as timm's does") {
  compare_curve<fp64>();
  compare_curve<fp32>();
}

TEST_CASE("a vision transformer trains as planned, and a recomputed or sharded one has the same bits") {
  const std::vector<double> token = trained<Token>();
  CHECK(trained<Token, Checkpoint<Every<1>>>() == token);
  CHECK(trained<TokenAgain>() == token);
  CHECK(on_two<Token, Shard<ZeRO3>>() == on_two<Token>());
  CHECK(trained<Mean, Checkpoint<Every<1>>>() == trained<Mean>());
}
// SPDX-License-Identifier: Apache-2.0
