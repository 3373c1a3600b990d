// A whole program with one mistake: a number of heads that does not divide the channels.
// expect: Heads<N> cuts the width into N equal heads; write an N that divides the width
// names: regimen::Heads<5>
// names: regimen::Shape<64, 128>
// alone: every compiler compiles its cure
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<4>, Causal>;
#else
using Attend = SelfAttention<Heads<5>, Causal>;
#endif

using Block = Sequential<Residual<LayerNorm, Attend>, Residual<LayerNorm, Linear<512>, GeluTanh, Linear<128>>>;
struct Gpt : Model<Input<Tokens<64>>, Embedding<Vocabulary<256>, 128>, PositionEmbedding, Repeat<4, Block>, LayerNorm, Linear<256>> {};
using Train = Trainer<Gpt, Batch<12>, Optimizer<AdamW>, Precision<bf16, fp32>, Checkpoint<Every<2>>>;

int main() {
  Train trainer{{.optimizer = {.learning_rate = 1e-3}}};
  trainer.fit(Text{"input.txt"}, {.steps = 2000});
  trainer.save("gpt.safetensors");
}
