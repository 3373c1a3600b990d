// tests/device/trainer.cpp — a GPT trains on Device<Cuda> what it trains on the CPU, in the formats and by the rules of
// regimen::cuda_compiled: most of it is host code, which needs no nvcc. (For other machines bench/gpu.sh compiles it
// by nvcc, with its kernels.)
//
// It is compiled where there is a CUDA toolkit; where there is a device, too, it runs. Exit code 77: there is none.
// With the argument `small` it trains a few steps in bf16 alone, for compute-sanitizer.
#include "trains.hpp"

#include <cstdio>
#include <string_view>
#include <vector>

using namespace regimen;
using test::agree;

namespace {

/// Of six blocks: Checkpoint<Offload> moves the blocks of a Repeat of three and more.
struct DeepGpt final : Model<Input<Tokens<16>>, Embedding<Vocabulary<64>, 32>, PositionEmbedding,
                             Repeat<6, support::SmallBlock>, LayerNorm, Linear<64>> {};

/// What blocks save waits in the host's memory, and no loss and no norm has another bit.
template <class Format>
bool offloads(const char* what) {
  return test::attempt(what, [&] {
    using Kept = Trainer<DeepGpt, Batch<4>, Format, Device<Cuda>>;
    using Moved = Trainer<DeepGpt, Batch<4>, Format, Checkpoint<Offload>, Device<Cuda>>;
    static_assert(Moved::plan().host > 0 && Moved::plan().peak < Kept::plan().peak);
    const std::vector<double> kept = test::losses<Kept>(), moved = test::losses<Moved>();
    const bool equal = kept == moved && moved == test::losses<Moved>();
    std::printf("{\"trains\":\"%s\",\"repeats\":%s}\n", what, equal ? "true" : "false");
    return equal;
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (!test::is_there()) return 77;
  if (argc > 1 && std::string_view(argv[1]) == "small") {
    test::steps = 8;
    return agree<Precision<bf16, fp32>>("bf16") ? 0 : 1;
  }
  bool holds = agree<Precision<fp32>>("fp32");
  holds = agree<Precision<tf32>>("tf32") && holds;
  holds = agree<Precision<bf16, fp32>>("bf16") && holds;
  holds = agree<Precision<fp32>, Optimizer<Muon>>("fp32, Muon") && holds;
  holds = offloads<Precision<fp32>>("fp32, offloaded") && holds;
  holds = offloads<Precision<bf16, fp32>>("bf16, offloaded") && holds;
  return holds ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
