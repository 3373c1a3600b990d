// Attention by cuDNN with dropout, whose random numbers would be those of cuDNN.
// expect: Attention<Cudnn> has no dropout; take it out of SelfAttention<\.\.\.>, or write Attention<Composed>
// names: Attend<2
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#else
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>, Dropout<Ratio<1, 10>>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

int main() { return sizeof(Train) == 0; }
