// One name for two lists of layers.
// expect: all Shared<Name, \.\.\.> of one name are the same layers; write the list once, as an alias, or another Name
// names: Tower
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Tower;
using Encode = Shared<Tower, Linear<8>, Relu>;
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Concat, Encode, Encode>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Concat, Encode, Shared<Tower, Linear<8>, Gelu>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
