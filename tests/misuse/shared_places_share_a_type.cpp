// Weights that are read in two element types.
// expect: all Shared of one name compute in one type; write As<T, \.\.\.> around all of them, none, or inside
// names: Tower
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Tower;
using Encode = Shared<Tower, Linear<8>, Relu>;
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Concat, As<fp32, Encode>, As<fp32, Encode>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Concat, Encode, As<fp32, Encode>>, Linear<4>> {};
#endif

using Train = Trainer<Small, Precision<bf16, fp32>>;

int main() { return sizeof(Train) == 0; }
