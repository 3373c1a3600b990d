// A Linear of six channels, and of eight.
// expect: a Shared reads inputs for which its layers have other weights; give all its places the same channels
// names: Tower
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Tower;
using Encode = Shared<Tower, Linear<8>, Relu>;
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Concat, Sequential<Slice<0, 6>, Encode>, Sequential<Slice<2, 6>, Encode>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Concat, Sequential<Slice<0, 6>, Encode>, Encode>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
