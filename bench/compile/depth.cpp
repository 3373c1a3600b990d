// A GPT of DEPTH blocks: what it costs to compile must not depend on DEPTH. (The tests compile it with 12, 96 and
// 1000.)
#include <regimen/regimen.hpp>

#ifndef DEPTH
#define DEPTH 12
#endif

using namespace regimen;

namespace {
using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<12>, Causal>>,
                         Residual<LayerNorm, Linear<3072>, Gelu, Linear<768>>>;
struct Gpt
    : Model<Input<Tokens<1024>>, Embedding<Vocabulary<50257>, 768>, Repeat<DEPTH, Block>, LayerNorm, Linear<50257>> {};
using Train = Trainer<Gpt, Loss<CrossEntropy>, Optimizer<AdamW>, Batch<4>, Checkpoint<Every<2>>>;
static_assert(Train::plan().peak > 0);
}  // namespace

int main(int, char** argv) {
  Train trainer;
  trainer.fit(Text{argv[1]}, {.steps = 1});
}
