// Attention among the pixels of an image, which has no length: Patches<1> gives it one.
// expect: this layer takes positions \(length, channels\); put it behind an Embedding or Patches<N>
// names: regimen::Shape<4, 6, 8>
#include "../support/model_recipe.hpp"

#include <regimen/layer/patches.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<4, 6, 8>>, Patches<1>, SelfAttention<Heads<2>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<4, 6, 8>>, SelfAttention<Heads<2>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
