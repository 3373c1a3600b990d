// examples/07_gpu.cpp — lesson 7: lesson 1 on a GPU. One policy is new.
//
//   gpu --data input.txt                compiled by nvcc: on a GPU
//   gpu_compiled --data input.txt       by another compiler, with regimen::cuda_compiled: on a GPU
//   gpu_emulated --steps 3 --sample 0   by another compiler alone: on a GPU that the host emulates, slowly
#include "gpt.hpp"

#if defined(__CUDACC__) || defined(REGIMEN_CUDA_COMPILED)
#include <regimen/engine/cuda/device.hpp>        // the engine of Device<Cuda>
using Where = regimen::Cuda;
#else
#include <regimen/engine/emulated/device.hpp>    // the same engine on the host, for programs without a GPU
using Where = regimen::Emulated;
#endif

using namespace regimen;

// The network of lesson 1.
using Block = Sequential<
    Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,               // (B,64,128)
    Residual<LayerNorm, Linear<512>, GeluTanh, Linear<128>>>;           // (B,64,128)

struct Gpt : Model<Input<Tokens<64>>,
                   Embedding<Vocabulary<256>, 128>, PositionEmbedding,  // (B,64,128)
                   Repeat<4, Block>, LayerNorm,
                   Linear<256>> {};                                     // (B,64,256)

// The same step, queued; the second step is captured as a graph, and from then on each step is one launch.
// Try: gpt<Gpt, Device<Where>, Precision<bf16, fp32>>, gpt<Gpt, Device<Where>, Precision<fp64>>.
int main(int argc, char** argv) { return gpt<Gpt, Device<Where>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
