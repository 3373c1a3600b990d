// Buckets of distances that all have one distance each, up to the largest.
// expect: RelativeBias<B, M> has an even B of 4 or more, and M above B / 2; write RelativeBias<32, 128>
// names: RelativeBias<32
#include "../support/model_recipe.hpp"

#include <regimen/layer/self_attention.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, RelativeBias<32, 64>>;
#else
using Attend = SelfAttention<Heads<2>, RelativeBias<32, 16>>;
#endif
struct Small : Model<Input<Series<5, 8>>, Attend, Linear<4>> {};

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
