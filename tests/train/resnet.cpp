// Residual networks of convolutions: the counts of the published ones, and the gradients, bits and running statistics of
// small ones.
#include <regimen/models/resnet.hpp>
#include <regimen/regimen.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"

#include <vector>

using namespace regimen;

namespace {

struct Published final : ResNet50<> {};
struct Cifar final : ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem> {};
struct Keras final
    : ResNet50<Image<32, 32, 3>, 10, resnet::StrideInFirst, resnet::ConvBias, resnet::KerasNorm, resnet::MaxPooling> {};
template <class... Norm>
struct Small final
    : ResNetModel<Image<8, 8, 3>, 5, resnet::Bottleneck, resnet::Depths<3, 2>, resnet::Width<2>, Norm...> {};
using Whole = Small<>;
using Pieces = Small<BatchNorm<PerMicroBatch>>;

constexpr MemoryPlan plan = Trainer<Published, Batch<32>>::plan();
static_assert(plan.parameters == Published::parameter_count);
static_assert(plan.bytes(MemoryKind::buffer) == 2 * 26'560 * 4);
// 4.09 GFLOP (He et al. count multiply-adds; torchvision says 4.09) a picture forward, each two operations.
static_assert(plan.forward.flops > 32 * 2 * 4.05e9 && plan.forward.flops < 32 * 2 * 4.2e9);
template <class Network>
constexpr MemoryPlan inference = programs::InferenceRecipe<Network, ConfigurationOf<Batch<1>>>::plan;
static_assert(inference<Cifar>.parameters == Cifar::parameter_count);
static_assert(inference<Keras>.parameters == Keras::parameter_count);
static_assert(inference<Whole>.parameters == Whole::parameter_count);
template <class Network>
constexpr bool is_named =
    names::detail::compare(
        Network::torchvision_names.entries,
        names::detail::TensorsOf<typename programs::InferenceRecipe<Network, ConfigurationOf<Batch<1>>>::Bound>::list)
        .misfit == names::Misfit::none;
static_assert(is_named<Published> && is_named<Cifar> && is_named<Keras>);
// A ResNet-18 for CIFAR: 0.556 G multiply-adds a picture (by hand: 1.77 M in the stem, 151.0 M in the first stage, 134.2 M
// in each other, of which 2.1 M in its projection).
static_assert(inference<Cifar>.forward.flops > 2 * 0.55e9 && inference<Cifar>.forward.flops < 2 * 0.57e9);

/// With enough channels for tiles of 2 x 2 pixels (engine/cpu/winograd.hpp).
struct ByTiles final : Model<Input<Image<4, 4, 3>>, Conv2d<32, 3, Padding<1>>,
                             Repeat<2, Sequential<Conv2d<32, 3, Padding<1>>, Relu>>, GlobalAveragePool, Linear<5>> {};

const Fake& fake_data() {
  static const Fake fake({.samples = 24, .classes = 5, .seed = 4});
  return fake;
}
std::vector<double> numbers(auto& trainer) { return support::trained(trainer, fake_data(), 4); }
template <class Model, class... Policies>
std::vector<double> trained_by(int threads) {
  Trainer<Model, Batch<4>, Policies...> trainer({.threads = threads});
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> trained() {
  return trained_by<Whole, Policies...>(0);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Pieces, Batch<3>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

}  // namespace

TEST_CASE("a residual network of convolutions has the gradients of calculus") {
  // Steps so small that none crosses a kink of Relu; rounding grows as 1/h.
  CHECK(gradient_check<Whole, Batch<3>, Precision<fp64>>({6, 1e-5, 1}).worst < 1e-6);
}
TEST_CASE("a residual network of convolutions has the same bits in the planned memory") {
  const std::vector<double> plain = trained<>();
  CHECK(trained<Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Checkpoint<Every<2>, Selective<BatchNorm<>, Relu>>>() == plain);
  CHECK(on_two<Shard<ZeRO3>>() == on_two<>());
}
TEST_CASE("a network whose convolutions are computed by tiles has the gradients of calculus, and one set of bits") {
  static_assert(cpu::WinogradTiles::are_faster({.samples = 1,
                                                .height = 4,
                                                .width = 4,
                                                .channels = 32,
                                                .out_channels = 32,
                                                .window_height = 3,
                                                .window_width = 3,
                                                .padding = 1}));
  CHECK(gradient_check<ByTiles, Batch<3>, Precision<fp64>>({6, 1e-5, 1}).worst < 1e-6);
  const std::vector<double> plain = trained_by<ByTiles>(1);
  CHECK(trained_by<ByTiles>(2) == plain);
  CHECK(trained_by<ByTiles, Checkpoint<Every<1>>>(2) == plain);
}
