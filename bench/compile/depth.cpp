// A GPT of DEPTH blocks: what it costs to compile must not depend on DEPTH. (The tests compile it with 12, 96 and
// 1000; nvcc for a GPU.)
#include <regimen/regimen.hpp>

#if defined(__CUDACC__)
#include <regimen/engine/cuda/device.hpp>
#endif

#ifndef DEPTH
#define DEPTH 12
#endif

using namespace regimen;

namespace {
using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<12>, Causal>>,
                         Residual<LayerNorm, Linear<3072>, Gelu, Linear<768>>>;
struct Gpt
    : Model<Input<Tokens<1024>>, Embedding<Vocabulary<50257>, 768>, Repeat<DEPTH, Block>, LayerNorm, Linear<50257>> {};
#if defined(__CUDACC__)
using Where = Cuda;
#else
using Where = Cpu;
#endif
using Train = Trainer<Gpt, Loss<CrossEntropy>, Optimizer<AdamW>, Batch<4>, Checkpoint<Every<2>>, Device<Where>>;
static_assert(Train::plan().peak > 0);
}  // namespace

int main(int, char** argv) {
  Train trainer;
  trainer.fit(Text{argv[1]}, {.steps = 1});
}
