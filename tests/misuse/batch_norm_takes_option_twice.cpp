// Two momenta, of which one would be ignored.
// expect: BatchNorm takes Epsilon, Momentum, PerMicroBatch, OverRanks, AfterBias, each at most once; write no other
// names: regimen::in_order::BatchNorm<regimen::Momentum<regimen::in_order::Ratio<1, 10>>, regimen::Momentum<regimen::in_order::Ratio<1, 100>>>
#include "../support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, BatchNorm<Momentum<Ratio<1, 10>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, BatchNorm<Momentum<Ratio<1, 10>>, Momentum<Ratio<1, 100>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
