// Inputs and outputs, as in other libraries.
// expect: Linear<N> takes its outputs alone, and its inputs from what stands before it; write one number, or Linear<N, NoBias>
// names: regimen::Linear<8, 16>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, Linear<8, 16>, Relu, Linear<4>> {};
#endif

using Train = Trainer<Mlp>;

int main() { return sizeof(Train) == 0; }
