// The derivative of tanh follows from its output.
// expect: Selective<\.\.\.> names a layer whose backward reads its own output, which is kept; leave it out
// names: regimen::Tanh
#include "../support/model_recipe.hpp"

#include <regimen/layer/activation.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<8>>, Linear<16>, Tanh, Linear<8>, Gelu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Mlp, Checkpoint<Selective<Gelu>>>;
#else
using Train = Trainer<Mlp, Checkpoint<Selective<Gelu, Tanh>>>;
#endif

int main() { return sizeof(Train) == 0; }
