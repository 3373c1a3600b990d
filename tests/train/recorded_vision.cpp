// Networks of convolutions against PyTorch: torchvision's ResNet blocks and a U-Net, from files in their own naming, in
// evaluation and in training; and files of ours are those files.
#include "train/other_names.hpp"

#include <regimen/models/resnet.hpp>
#include <regimen/models/unet.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/inference.hpp>

#include "temporary.hpp"

#include <cstdint>
#include <map>

using namespace regimen;
using namespace regimen::test;

namespace {

struct Basic final
    : ResNetModel<Image<16, 16, 3>, 5, resnet::Basic, resnet::Depths<2, 2, 1, 1>, resnet::Width<2>, resnet::CifarStem> {
  static constexpr const auto& their_names = torchvision_names;
};
struct OfBottlenecks final
    : ResNetModel<Image<48, 48, 3>, 5, resnet::Bottleneck, resnet::Depths<2, 1, 1, 1>, resnet::Width<1>> {
  static constexpr const auto& their_names = torchvision_names;
};
struct InForm final : ResNetModel<Image<48, 48, 3>, 5, resnet::Bottleneck, resnet::Depths<1, 1, 1, 1>, resnet::Width<1>,
                                  resnet::StrideInFirst, resnet::ConvBias, resnet::KerasNorm, resnet::MaxPooling> {
  static constexpr const auto& their_names = torchvision_names;
};
struct Pixels final : UNetModel<Image<8, 4, 2>, 3, 2, 2> {
  static constexpr const auto& their_names = pytorch_unet_names;
};

/// The pictures of tests/recorded/make_vision.py.
template <class Train>
struct Pictures {
  std::vector<typename Train::Input> inputs;
  std::vector<std::int32_t> targets;

  Pictures(std::size_t count, std::size_t classes) {
    for (std::uint32_t place = 0; place < count * Train::input_size; ++place) {
      std::uint32_t mixed = place * 2'654'435'761u;
      mixed = (mixed ^ (mixed >> 15)) * 2'246'822'519u;
      mixed ^= mixed >> 13;
      const std::size_t label = place / Train::input_size % classes;
      inputs.push_back(typename Train::Input(double(mixed >> 8) / 0x1p23 - 1 +
                                             (place % Train::input_size % classes == label ? 1 : 0)));
    }
    for (std::size_t i = 0; i < count * Train::target_size; ++i)
      targets.push_back(std::int32_t(i / Train::target_size % classes));
  }
};

/// In fp32 results may be four times as far from the truth as the farthest of nine runs of PyTorch in fp32, which tell
/// where a rounding puts the input of a ReLU on its other side; in fp64 what a hundred thousand roundings leave.
template <class Network, class T, std::size_t batch>
void check(const std::string& name, std::size_t classes) {
  INFO(name << " in " << name_of<T>);
  constexpr bool exact = std::is_same_v<T, fp64>;
  constexpr const auto& map = Network::their_names;
  const std::string model = support::recorded(name + "/model.safetensors").string();
  const Recorded from(name + "/results");
  using Train = Trainer<Network, Precision<T>, Batch<batch>, Optimizer<Sgd>>;
  Train trainer{{.optimizer = {.learning_rate = std::stod(from.file.value("lr")),
                               .momentum = std::stod(from.file.value("momentum")),
                               .weight_decay = 0}}};
  trainer.poison_dead_memory();
  names::load<map>(trainer, model);
  const Pictures<Train> pictures(3 * batch, classes);
  const std::size_t in = batch * Train::input_size, out = batch * Train::target_size;
  if constexpr (exact)
    has_their_gradients<map, Train>(name, std::span(pictures.inputs).first(in), std::span(pictures.targets).first(out));
  compare<T>(from, "logits", trainer.predict({pictures.inputs.data(), in}));

  const auto losses = from.values<double>("fp64.losses"), norms = from.values<double>("fp64.gradient_norms");
  const auto bound_of = [&](const char* what) {
    return 4 * std::stod(from.file.value(std::string("fp32_") + what + "_difference"));
  };
  const double loss_bound = exact ? 1e-10 : bound_of("losses"), norm_bound = exact ? 1e-9 : bound_of("gradient_norms"),
               drift = bound_of("final");
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const StepResult result =
        trainer.step({pictures.inputs.data() + i % 3 * in, in}, {pictures.targets.data() + i % 3 * out, out});
    INFO("step " << i << ": loss " << result.loss - losses[i] << " off, bound " << loss_bound << "; norm "
                 << result.gradient_norm - norms[i] << " off, bound " << norm_bound);
    CHECK(std::abs(result.loss - losses[i]) <= loss_bound);
    CHECK(std::abs(result.gradient_norm - norms[i]) <= norm_bound);
  }
  CHECK(trainer.used().peak == trainer.planned().peak);

  // Weights and running statistics, under the names that we write.
  const ::test::Directory directory;
  names::save<map>(trainer, directory / "model.safetensors");
  const safetensors::File ours(directory / "model.safetensors"), theirs(model);
  std::size_t found = 0;
  for (const safetensors::Tensor& tensor : theirs.tensors()) {
    if (tensor.name.ends_with(".num_batches_tracked")) continue;
    ++found;
    REQUIRE(ours.tensor(tensor.name).shape == tensor.shape);
    const auto truth = from.values<float>("final." + tensor.name);
    std::vector<T> values(truth.size());
    ours.copy<T>(tensor.name, tensor.shape, values);
    double worst = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const double bound = exact ? 1e-9 + std::abs(double(truth[i])) * 0x1p-24 : drift;
      worst = std::max(worst, std::abs(double(values[i]) - double(truth[i])) / bound);
    }
    INFO(tensor.name << ": " << worst << " of the bound");
    CHECK(worst <= 1);
  }
  CHECK(ours.tensors().size() == found);
}
/// What is loaded and saved again is the same file, but for what nothing here reads.
template <class Network, std::size_t batch>
void check_both_ways(const std::string& name) {
  constexpr const auto& map = Network::their_names;
  const std::string model = support::recorded(name + "/model.safetensors").string();
  const ::test::Directory directory;
  Inference<Network, Batch<batch>> inference;
  names::load<map>(inference, model);
  names::save<map>(inference, directory / "model.safetensors");
  const safetensors::File ours(directory / "model.safetensors"), theirs(model);
  for (const safetensors::Tensor& tensor : theirs.tensors()) {
    if (tensor.name.ends_with(".num_batches_tracked")) continue;
    INFO(tensor.name);
    const safetensors::Tensor& own = ours.tensor(tensor.name);
    CHECK(own.shape == tensor.shape);
    CHECK(std::equal(own.bytes.begin(), own.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
}

}  // namespace

TEST_CASE("small ResNets evaluate and train as torchvision's, from its files") {
  check<Basic, fp32, 8>("resnet/basic", 5);
  check<Basic, fp64, 8>("resnet/basic", 5);
  check<OfBottlenecks, fp32, 8>("resnet/bottleneck", 5);
  check<OfBottlenecks, fp64, 8>("resnet/bottleneck", 5);
  check<InForm, fp64, 8>("resnet/keras", 5);
  check_both_ways<Basic, 8>("resnet/basic");
}
TEST_CASE("a small U-Net evaluates and trains as PyTorch's, from its files") {
  check<Pixels, fp32, 4>("unet", 3);
  check<Pixels, fp64, 4>("unet", 3);
}
