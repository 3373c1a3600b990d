// KeepStatistics behind the layers of a Frozen.
// expect: KeepStatistics stands among layers; write it first in Frozen<KeepStatistics, \.\.\.>
// names: regimen::KeepStatistics
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Tuned : Model<Input<Vector<8>>, Frozen<KeepStatistics, Linear<8, NoBias>, BatchNorm<>>, Linear<4>> {};
#else
struct Tuned : Model<Input<Vector<8>>, Frozen<Linear<8, NoBias>, BatchNorm<>, KeepStatistics>, Linear<4>> {};
#endif

using Train = Trainer<Tuned>;

int main() { return sizeof(Train) == 0; }
