// A branch without layers: the branch that is its input is Identity.
// expect: Model, Residual, Fork and Repeat hold 1 to 255 layers; write at least one, or write equal ones as Repeat
// names: regimen::Fork<regimen::Add, regimen::Sequential<>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Add, Identity, Linear<8>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Add, Sequential<>, Linear<8>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
