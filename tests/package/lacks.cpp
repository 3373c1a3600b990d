// A rule composed of others, whose kernels regimen::compiled lacks: refused, or, with kernels.hpp, compiled here. With
// -DREGIMEN_CUDA_COMPILED=900 the same rule on a GPU, with regimen::cuda_compiled; the cure there is nvcc, or a rule
// that the library has.
#include <regimen/regimen.hpp>
#if defined(REGIMEN_CUDA_COMPILED)
#include <regimen/comm/launch.hpp>
#include <regimen/engine/cuda/device.hpp>
using Where = regimen::Cuda;
#else
using Where = regimen::Cpu;
#endif
#if defined(REGIMEN_CURE) && !defined(REGIMEN_CUDA_COMPILED)
#include <regimen/engine/cpu/kernels.hpp>
#endif

#include <vector>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

#if defined(REGIMEN_CURE) && defined(REGIMEN_CUDA_COMPILED) && !defined(__CUDACC__)
using Rule = AdamW;
#else
using Rule = Averaged<AdamW>;
#endif

template <class Network, class... Policies>
void step() {
  using Train = Trainer<Network, Device<Where>, Policies...>;
  Train trainer;
  trainer.step(std::vector<typename Train::Input>(1), std::vector<typename Train::Label>(1));
}

#if defined(REGIMEN_CURE) && defined(REGIMEN_CUDA_COMPILED)
// What regimen::cuda_compiled has: layers in fp32, tf32 and bf16 under the update rules of the library.
struct Images : Model<Input<Image<8, 8, 1>>, Conv2d<16, 3, Padding<1>, NoBias>, BatchNorm<>, Relu, MaxPool<2>,
                      Conv2d<8, 3>, Silu, Flatten, Dropout<Ratio<1, 4>>, Linear<10>> {};
struct Texts : Model<Input<Tokens<16>>, Embedding<Vocabulary<64>, 32>, PositionEmbedding,
                     Residual<LayerNorm, SelfAttention<Heads<4>, Causal>, Dropout<Ratio<1, 4>>>,
                     Residual<RmsNorm, Linear<64>, GeluTanh, Linear<32>>, Lstm<32>, Gru<32>, Linear<64>> {};
void others() {
  step<Images, Precision<tf32>>();
  step<Images, Precision<bf16, fp32>, Optimizer<Lamb>, Clip<Norm<Ratio<1>>>>();
  step<Texts, Optimizer<Muon>>();
  step<Texts, Precision<bf16, fp32>, Accumulate<2>, Attention<Composed>, Debug<Anomaly>>();
  step<Net, Loss<MeanSquaredError>, Optimizer<Sgd>>();
  using Ranked = Trainer<Net, Device<Where>, Communicator<Threads>, Shard<ZeRO2>>;
  launch(2, [](comm::Threads& ranks) {
    Ranked trainer(ranks);
    trainer.step(std::vector<Ranked::Input>(1), std::vector<Ranked::Label>(1));
  });
}
#endif

int main() { step<Net, Optimizer<Rule>>(); }
// SPDX-License-Identifier: Apache-2.0
