// BatchNorm over ranks, of a batch that Accumulate cuts.
// expect: BatchNorm is of a batch that is cut; among ranks write BatchNorm<OverRanks>, else BatchNorm<PerMicroBatch>
// names: regimen::in_order::BatchNorm<regimen::OverRanks>
// names: regimen::Accumulate<2>
#include "../support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, BatchNorm<PerMicroBatch>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, BatchNorm<OverRanks>, Linear<4>> {};
#endif

using Train = Trainer<Small, Accumulate<2>>;

int main() { return sizeof(Train) == 0; }
