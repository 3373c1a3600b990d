// Weights, gradients and optimizer state are larger than the target: no batch and no schedule help.
// expect: weights and optimizer state alone exceed the Target; name a larger one, or Shard<ZeRO3> over ranks
// names: 67108864
// names: regimen::rule::Exceeds<
// names: regimen::rule::StateAlone<
// names: regimen::rule::Owner<regimen::Linear<4096>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Wide : Model<Input<Vector<8>>, Linear<4096>, Relu, Linear<4096>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Wide, Target<targets::host<1_GiB>>, Batch<32>>;
#else
using Train = Trainer<Wide, Target<targets::host<64_MiB>>, Batch<32>>;
#endif

int main() { return sizeof(Train) == 0; }
