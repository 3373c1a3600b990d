// tests/device/attention.cu — a GPT trains on Device<Cuda> in each form of attention what it trains on the CPU.
//
// Most of it is host code, and bench/compile/registers.cu compiles the kernels for all GPUs; so it is
// compiled for 90a-real
//
// nvcc compiles it wherever there is one; where there is a device, too, it runs. Exit code 77: there is none.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/cuda/device.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/trainers/trainer.hpp>

#include "forms.hpp"

#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

using Block = Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>;
struct Gpt final : Model<Input<Tokens<33>>, Embedding<Vocabulary<64>, 32>, Repeat<2, Block>, LayerNorm, Linear<64>> {};

template <class Form, class Format>
bool agrees(const char* what) {
  return test::agrees<Gpt, Batch<3>, Attention<Form>, Format>(what);
}

/// Dropout is cuDNN's own, so no other form has its losses: it repeats them, computes the same again for backward, and
/// trains.
#if defined(REGIMEN_HAS_CUDNN)
using DroppingBlock = Residual<LayerNorm, SelfAttention<Heads<2>, Causal, Dropout<Ratio<1, 10>>>>;
struct DroppingGpt final
    : Model<Input<Tokens<33>>, Embedding<Vocabulary<64>, 32>, Repeat<2, DroppingBlock>, LayerNorm, Linear<64>> {};
bool drops_the_same() {
  const auto run = []<class... More>(std::type_identity<More>...) {
    Trainer<DroppingGpt, Batch<3>, Precision<bf16, fp32>, Attention<Cudnn>, Device<Cuda>, More...> trainer;
    std::vector<double> all;
    trainer.fit(Fake({.samples = 64, .classes = 7, .seed = 2}), {.steps = 8, .progress = false},
                [&](auto&, const StepResult& result) { all.push_back(result.loss); });
    return all;
  };
  const std::vector<double> first = run();
  const bool holds = first == run() && first == run(std::type_identity<Graph<Off>>{}) &&
                     first == run(std::type_identity<Checkpoint<Every<1>>>{}) && first.back() < first.front();
  std::printf("{\"trains\":\"cuDNN, bf16, dropout\",\"repeats\":%s}\n", holds ? "true" : "false");  // and descends
  return holds;
}
#endif

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: the forms were compiled, and did not run\n");
    return 77;
  }
  bool holds = agrees<Tiled, Precision<fp64>>("tiled, fp64");
  holds = agrees<Tiled, Precision<bf16, fp32>>("tiled, bf16") && holds;
  holds = agrees<Composed, Precision<bf16, fp32>>("composed, bf16") && holds;
#if defined(REGIMEN_HAS_CUDNN)
  holds = agrees<Cudnn, Precision<bf16, fp32>>("cuDNN, bf16") && holds;
  holds = test::attempt("cuDNN with dropout", drops_the_same) && holds;
#endif
  return holds ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
