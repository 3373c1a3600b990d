// tests/device/trainer.cu — a GPT trains on Device<Cuda> what it trains on the CPU, by graphs and by single launches.
//
// Most of it is host code, and block_kernels.cu compiles the kernels for all GPUs; so it is
// compiled for 90a-real
//
// nvcc compiles it wherever there is one; where there is a device, too, it runs. Exit code 77: there is none.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/cuda/device.cuh>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/train/trainer.hpp>

#include "../support/rounding.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                         Residual<LayerNorm, Linear<64>, Gelu, Linear<32>, Dropout<Ratio<1, 10>>>>;
struct Gpt final : Model<Input<Tokens<16>>, Embedding<Vocabulary<64>, 32>, PositionEmbedding, Repeat<2, Block>,
                         LayerNorm, Linear<64>> {};

constexpr std::size_t steps = 12;

template <class Train>
std::vector<double> losses() {
  Train trainer;
  const std::size_t before = trainer.used().operations;  // copies of the weights for kernels
  std::vector<double> all;
  trainer.fit(Fake({.samples = 64, .classes = 7, .seed = 2}), {.steps = steps, .progress = false},
              [&](Train&, train::TrainingEvent<Train> event) {
                const auto add = [&](const StepResult& result) {
                  all.push_back(result.loss);
                  all.push_back(result.gradient_norm);
                };
                if constexpr (Train::Configuration::steps::count == 1) add(event);
                else
                  for (const StepResult& result : event) add(result);
              });
  if (trainer.used().peak != Train::plan().peak ||
      trainer.used().operations - before != steps * Train::plan().operations())
    std::printf("used is not what was planned\n"), std::exit(1);
  return all;
}

/// Every loss and norm, beside those of the CPU in fp64 (support/rounding.hpp): by graphs, once more, without them, and
/// by graphs of four steps.
template <class Format, class... Policies>
bool agree(const char* what) {
  const std::vector<double> exact = losses<Trainer<Gpt, Batch<4>, Precision<fp64>, Policies...>>();
  double may = support::of_order;
  if constexpr (!std::is_same_v<Format, Precision<fp64>>)
    may = support::as_far_as(support::distance(exact, losses<Trainer<Gpt, Batch<4>, Format, Policies...>>()));
  const std::vector<double> there = losses<Trainer<Gpt, Batch<4>, Format, Policies..., Device<Cuda>>>();
  const std::vector<double> again = losses<Trainer<Gpt, Batch<4>, Format, Policies..., Device<Cuda>>>();
  const std::vector<double> single = losses<Trainer<Gpt, Batch<4>, Format, Policies..., Device<Cuda>, Graph<Off>>>();
  const std::vector<double> fours = losses<Trainer<Gpt, Batch<4>, Format, Policies..., Device<Cuda>, Steps<4>>>();
  const double found = support::distance(exact, there);
  const auto bits = [&](const std::vector<double>& other) { return there == other ? "the same bits" : "OTHER BITS"; };
  std::printf(
      "%-20s distance from fp64 on the CPU %.1e (at most %.1e), repeated %s, without graphs %s, four steps a launch %s\n",
      what, found, may, bits(again), bits(single), bits(fours));
  return found < may && there == again && there == single && there == fours;
}

}  // namespace

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: the engine was compiled, and did not run\n");
    return 77;
  }
  bool holds = agree<Precision<fp64>>("fp64");
  holds = agree<Precision<fp64>, Accumulate<2>, Checkpoint<Every<1>>>("fp64, accumulated") && holds;
  holds = agree<Precision<fp32>>("fp32") && holds;
  holds = agree<Precision<bf16, fp32>>("bf16") && holds;
  return holds ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
// SPDX-License-Identifier: Apache-2.0
