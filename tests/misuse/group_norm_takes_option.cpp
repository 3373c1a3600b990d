// An option of another layer.
// expect: GroupNorm<N> takes Epsilon<\.\.\.> at most once; write no other option
// names: regimen::PerMicroBatch
#include "../support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/group_norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, GroupNorm<2, Epsilon<Ratio<1, 1000>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, GroupNorm<2, PerMicroBatch>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
