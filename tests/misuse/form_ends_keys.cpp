// Attention that ends where a text does, by cuDNN.
// expect: Attention<Cudnn> has no Within<\.\.\.>; write Attention<Composed> or Attention<Tiled>
// names: Length
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

struct Length : NamedLength<8> {};
struct Words : Model<Input<Tokens<8>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 16>,
                     SelfAttention<Heads<4>, Within<Length>>, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Precision<bf16, fp32>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

int main() { return sizeof(Train) == 0; }
