// A residual network of convolutions, written from layers: ResNet-50's plan and counts, and the gradients, bits and running
// statistics of a small one.
#include <regimen/comm/launch.hpp>
#include <regimen/regimen.hpp>
#include <regimen/train/gradient_check.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <vector>

using namespace regimen;

namespace {

template <class Norm, std::size_t Channels, std::size_t Window, std::size_t Step = 1>
using ConvNorm = Sequential<Conv2d<Channels, Window, Stride<Step>, Padding<Window / 2>, NoBias>, Norm>;
template <class Norm, std::size_t Channels, std::size_t Step, class Shortcut>
using Bottleneck = Sequential<Fork<Add, Shortcut,
                                   Sequential<ConvNorm<Norm, Channels, 1>, Relu, ConvNorm<Norm, Channels, 3, Step>,
                                              Relu, ConvNorm<Norm, 4 * Channels, 1>>>,
                              Relu>;
template <class Norm, std::size_t Depth, std::size_t Channels, std::size_t Step>
using Stage = Sequential<Bottleneck<Norm, Channels, Step, ConvNorm<Norm, 4 * Channels, 1, Step>>,
                         Repeat<Depth - 1, Bottleneck<Norm, Channels, 1, Identity>>>;

/// He et al. 2016, table 1, with the stride in the 3x3, as torchvision.
struct ResNet50 final
    : Model<Input<Image<224, 224, 3>>, ConvNorm<BatchNorm<>, 64, 7, 2>, Relu, MaxPool<3, Stride<2>, Padding<1>>,
            Stage<BatchNorm<>, 3, 64, 1>, Stage<BatchNorm<>, 4, 128, 2>, Stage<BatchNorm<>, 6, 256, 2>,
            Stage<BatchNorm<>, 3, 512, 2>, GlobalAveragePool, Linear<1000>> {};
template <class Norm>
struct Small final : Model<Input<Image<8, 8, 3>>, ConvNorm<Norm, 4, 3>, Relu, MaxPool<3, Stride<2>, Padding<1>>,
                           Stage<Norm, 3, 2, 1>, Stage<Norm, 2, 3, 2>, GlobalAveragePool, Linear<5>> {};
using Whole = Small<BatchNorm<>>;
using Pieces = Small<BatchNorm<PerMicroBatch>>;

constexpr MemoryPlan plan = Trainer<ResNet50, Batch<32>>::plan();
static_assert(plan.parameters == 25'557'032);  // torchvision's
static_assert(plan.bytes(MemoryKind::buffer) == 2 * 26'560 * 4);
// 4.09 GFLOP (He et al. count multiply-adds; torchvision says 4.09) a picture forward, each two operations.
static_assert(plan.forward.flops > 32 * 2 * 4.05e9 && plan.forward.flops < 32 * 2 * 4.2e9);

const Fake& data() {
  static const Fake fake({.samples = 24, .classes = 5, .seed = 4});
  return fake;
}
std::vector<double> numbers(auto& trainer) {
  trainer.poison_dead_memory();
  const double loss = trainer.fit(data(), {.steps = 4, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  std::vector<double> all = support::weights_of<double>(trainer);
  all.push_back(loss);
  return all;
}
template <class... Policies>
std::vector<double> trained() {
  Trainer<Whole, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  std::vector<double> found;
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Pieces, Batch<3>, Communicator<Threads>, Policies...> trainer(ranks);
    const auto own = numbers(trainer);
    if (ranks.rank() == 0) found = own;
  });
  return found;
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
