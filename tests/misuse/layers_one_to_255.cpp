// A model without layers.
// expect: Model, Residual, Fork and Repeat hold 1 to 255 layers; write at least one, or write equal ones as Repeat
// names: Small
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
