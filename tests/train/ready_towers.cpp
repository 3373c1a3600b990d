// Towers of ready networks: their parameters, gradients, bits and memory, and the names of their tensors.
#include <regimen/models/resnet.hpp>
#include <regimen/models/two_towers.hpp>
#include <regimen/models/vit.hpp>
#include <regimen/regimen.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/trained.hpp"

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

using Contrast = Loss<NtXent<Ratio<1, 5>>>;

struct Short final : Model<Input<Vector<3>>, Linear<4>, Sequential<Relu, Linear<4>>> {};
static_assert(std::is_same_v<LayersOf<Short>, Sequential<Linear<4>, Sequential<Relu, Linear<4>>>>);
static_assert(std::is_same_v<EncoderOf<Short>, Sequential<Linear<4>>>);
static_assert(std::is_same_v<EncoderOf<Model<Input<Vector<3>>>>, Sequential<>>);

/// SimCLR with a ResNet-50, which without its classifier, 1000 · 2049, has 23,508,032; and a head of two layers.
struct SimClr final : TwinTowers<Tower<Image<224, 224, 3>, EncoderOf<ResNet50<>>>, Linear<2048>, Relu, Linear<128>> {};
static_assert(ResNet50<>::parameter_count - 2'049'000 == 23'508'032);
static_assert(programs::InferenceRecipe<SimClr, ConfigurationOf<Batch<1>>>::plan.parameters ==
              23'508'032 + (2048 * 2048 + 2048) + (2048 * 128 + 128));
constexpr auto simclr = simclr_names(ResNet50<>::torchvision_encoder_names);
template <const auto& map, class Network>
constexpr bool names_all =
    names::detail::compare(
        map.entries,
        names::detail::TensorsOf<typename programs::InferenceRecipe<Network, ConfigurationOf<Batch<1>>>::Bound>::list)
        .misfit == names::Misfit::none;
static_assert(names_all<simclr, SimClr>);

struct Residuals final
    : ResNetModel<Image<8, 8, 3>, 5, resnet::Basic, resnet::Depths<2, 1>, resnet::CifarStem, resnet::Width<2>> {};
struct OfPatches final : VitOf {
  static constexpr std::size_t image = 8, patch = 4, width = 6, heads = 2, depth = 2, classes = 5;
};
struct Patched final : VitModel<OfPatches> {};

struct Twins final : TwinTowers<Tower<Image<8, 8, 3>, EncoderOf<Residuals>>, Linear<4>, Relu, Linear<3>> {};
struct PatchedTwins final : TwinTowers<Tower<Image<8, 8, 3>, LayersOf<Patched>>, Linear<3>> {};
struct Two final
    : TwoTowers<Tower<Image<8, 8, 3>, EncoderOf<Residuals>>, Tower<Image<8, 8, 3>, EncoderOf<Patched>>, 4> {};
constexpr auto of_twins = simclr_names(Residuals::torchvision_encoder_names);
constexpr auto of_two =
    hugging_face::two_towers_names(Residuals::torchvision_encoder_names, timm::vit_encoder_names<Patched>);

// The heads of the networks have 5 (c + 1) parameters; c is 4 and 6.
static_assert(Trainer<Twins, Contrast, Batch<4>>::plan().parameters ==
              Residuals::parameter_count - 5 * 5 + 5 * 4 + 5 * 3);
static_assert(Trainer<PatchedTwins, Contrast, Batch<4>>::plan().parameters == vit_parameters<OfPatches> + 6 * 3);
static_assert(Trainer<Two, Contrast, Batch<4>>::plan().parameters ==
              Residuals::parameter_count - 5 * 5 + 4 * 4 + vit_parameters<OfPatches> - 5 * 7 + 4 * 6);

template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Contrast, Batch<4>, Policies...> trainer;
  return support::trained(trainer, Fake({.samples = 24, .classes = 1}), 4);
}

}  // namespace

TEMPLATE_TEST_CASE("towers of ready networks have the gradients of calculus", "", Twins, Two) {
  // Steps so small that none crosses a kink of Relu; rounding grows as 1/h.
  CHECK(gradient_check<TestType, Contrast, Batch<3>, Precision<fp64>>({6, 1e-5, 1}).worst < 1e-6);
}
TEST_CASE("towers of ready networks have the same bits in the planned memory") {
  CHECK(trained<Twins, Checkpoint<Selective<Relu>>>() == trained<Twins>());
  CHECK(trained<Two, Checkpoint<Selective<Relu, Gelu>>>() == trained<Two>());
}
TEMPLATE_TEST_CASE("a step trains all of ready networks in towers", "", Twins, Two) {
  Trainer<TestType, Contrast, Batch<4>> trainer;
  const auto weights = [&] {
    std::vector<std::vector<float>> all;
    for (const auto& parameter : trainer.parameters())
      parameter.visit([&](auto values) { all.emplace_back(values.begin(), values.end()); });
    return all;
  };
  const auto before = weights();
  trainer.fit(Fake({.samples = 4, .classes = 1}), {.steps = 1, .progress = false});
  const auto after = weights();
  for (std::size_t i = 0; i < before.size(); ++i) {
    INFO(trainer.parameters()[i].name);
    CHECK(before[i] != after[i]);
  }
}
TEST_CASE("towers of ready networks are saved by the names of their networks, and read again") {
  const ::test::Directory directory;
  const auto keeps = [&] < const auto & map, class Network > (const char* first, const char* last) {
    Trainer<Network, Contrast, Batch<4>> trainer;
    trainer.fit(Fake({.samples = 8, .classes = 1}), {.steps = 2, .progress = false});
    names::save<map>(trainer, directory / "a");
    const safetensors::File file(directory / "a");
    CHECK(file.find(first) != nullptr);
    CHECK(file.find(last) != nullptr);
    CHECK(file.tensors().size() == trainer.parameters().size());
    Trainer<Network, Contrast, Batch<4>> other;
    names::load<map>(other, directory / "a");
    CHECK(support::weights_of<double>(other) == support::weights_of<double>(trainer));
  };
  keeps.template operator()<of_twins, Twins>("backbone.layer2.0.downsample.1.running_var", "backbone.fc.2.bias");
  keeps.template operator()<of_two, Two>("vision_model.bn1.running_mean", "text_projection.weight");
}
// SPDX-License-Identifier: Apache-2.0
