// A block of several layers, without a Sequential.
// expect: Repeat<N, Block> repeats one block; write Repeat<N, Sequential<\.\.\.>>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, Repeat<3, Sequential<Linear<8>, Relu>>, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, Repeat<3, Linear<8>, Relu>, Linear<4>> {};
#endif

using Train = Trainer<Mlp>;

int main() { return sizeof(Train) == 0; }
