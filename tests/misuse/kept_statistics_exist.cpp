// Statistics are to stay where no layer has any.
// expect: Frozen<KeepStatistics, \.\.\.> holds no layer with running statistics; leave KeepStatistics out
// names: regimen::Frozen<regimen::KeepStatistics, regimen::Linear<8>, regimen::LayerNorm>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Tuned : Model<Input<Vector<8>>, Frozen<Linear<8>, LayerNorm>, Linear<4>> {};
#else
struct Tuned : Model<Input<Vector<8>>, Frozen<KeepStatistics, Linear<8>, LayerNorm>, Linear<4>> {};
#endif

using Train = Trainer<Tuned>;

int main() { return sizeof(Train) == 0; }
