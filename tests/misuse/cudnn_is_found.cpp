// Attention by cuDNN, in a program that is compiled without it.
// expect: this program has no cuDNN; install it for CMake's regimen::cuda, or name another form
// names: regimen::Attention<regimen::Cudnn>
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Composed>, Device<Gpu<false>>>;
#else
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<false>>>;
#endif

int main() { return sizeof(Train) == 0; }
