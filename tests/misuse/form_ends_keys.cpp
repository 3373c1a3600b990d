// Attention that ends where a text does, in the form of attention that a GPU has by default.
// expect: on a GPU Within<\.\.\.> has one form, Attention<Tiled>; add that policy
// names: Length
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

struct Length : NamedLength {};
struct Words : Model<Input<Tokens<8>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 16>,
                     SelfAttention<Heads<4>, Within<Length>>, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Attention<Tiled>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Device<Gpu<true>>>;
#endif

int main() { return sizeof(Train) == 0; }
