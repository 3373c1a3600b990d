// A number of floating-point operations for each byte that every layer exceeds.
// expect: Checkpoint<If<P>>: P chooses no layer that can be recomputed; raise its number
// names: FlopsPerByteBelow
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Small : Model<Input<Vector<8>>, Linear<8>, Gelu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Checkpoint<If<FlopsPerByteBelow<4>::of>>>;
#else
using Train = Trainer<Small, Checkpoint<If<FlopsPerByteBelow<1>::of>>>;
#endif

int main() { return sizeof(Train) == 0; }
