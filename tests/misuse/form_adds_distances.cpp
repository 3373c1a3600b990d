// Scores that fall with the distance, by cuDNN.
// expect: Attention<Cudnn> has no Alibi and RelativeBias; write Attention<Composed> or Attention<Tiled>
// names: HeadLayout<4
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

using Attend = SelfAttention<Heads<4>, Causal, Alibi>;
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Attend, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Precision<bf16, fp32>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

int main() { return sizeof(Train) == 0; }
