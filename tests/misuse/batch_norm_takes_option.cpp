// An option of another layer.
// expect: BatchNorm takes Epsilon, Momentum, PerMicroBatch, OverRanks, AfterBias, each at most once; write no other
// names: regimen::Causal
#include "../support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, BatchNorm<PerMicroBatch, Momentum<Ratio<1, 100>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, BatchNorm<Causal>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
