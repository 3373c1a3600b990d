// A block that is repeated zero times.
// expect: this layer has an extent of zero; write extents of at least one
// names: regimen::Repeat<0
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Repeat<1, Residual<Linear<8>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Repeat<0, Residual<Linear<8>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
