// Attention by cuDNN in fp32.
// expect: Attention<Cudnn> computes in bf16 or fp16; write Precision<bf16, fp32>, or Attention<Composed>
// names: regimen::Attention<regimen::Cudnn>
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#else
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

int main() { return sizeof(Train) == 0; }
