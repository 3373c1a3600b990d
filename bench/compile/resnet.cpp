// ResNet-50 (He et al. 2016, table 1, with the stride in the 3x3, as torchvision), trained as the quickstart trains its
// GPT: what a model of many kinds of blocks costs to compile.
#include <regimen/regimen.hpp>

#include <cmath>

using namespace regimen;

namespace {
template <std::size_t Channels, std::size_t Window, std::size_t Step = 1>
using ConvNorm = Sequential<Conv2d<Channels, Window, Stride<Step>, Padding<Window / 2>, NoBias>, BatchNorm<>>;
template <std::size_t Channels, std::size_t Step, class Shortcut>
using Bottleneck = Sequential<
    Fork<Add, Shortcut,
         Sequential<ConvNorm<Channels, 1>, Relu, ConvNorm<Channels, 3, Step>, Relu, ConvNorm<4 * Channels, 1>>>,
    Relu>;
template <std::size_t Depth, std::size_t Channels, std::size_t Step>
using Stage = Sequential<Bottleneck<Channels, Step, ConvNorm<4 * Channels, 1, Step>>,
                         Repeat<Depth - 1, Bottleneck<Channels, 1, Identity>>>;
struct ResNet50
    : Model<Input<Image<224, 224, 3>>, ConvNorm<64, 7, 2>, Relu, MaxPool<3, Stride<2>, Padding<1>>, Stage<3, 64, 1>,
            Stage<4, 128, 2>, Stage<6, 256, 2>, Stage<3, 512, 2>, GlobalAveragePool, Linear<1000>> {};

using Train = Trainer<ResNet50, Precision<fp32>, Target<targets::host<16_GiB>>, Batch<16>, Optimizer<AdamW>>;
}  // namespace

int main() {
  const Fake pictures({.samples = 256, .classes = 1000}), held_out({.samples = 64, .classes = 1000, .seed = 2});
  Train trainer{{.optimizer = {.learning_rate = 1e-3}}};
  const Fitted fitted = trainer.fit(pictures, held_out, {.steps = 500, .validate_every = 100});
  return std::isfinite(fitted.loss) && Train::plan().peak == trainer.used().peak ? 0 : 1;
}
