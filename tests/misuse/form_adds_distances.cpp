// Scores that fall with the distance, in the form of attention that a GPU has by default.
// expect: on a GPU Alibi and RelativeBias have one form, Attention<Tiled>; add that policy
// names: HeadLayout<4
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

using Attend = SelfAttention<Heads<4>, Causal, Alibi>;
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Attend, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Attention<Tiled>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Device<Gpu<true>>>;
#endif

int main() { return sizeof(Train) == 0; }
