// Branches without what joins them.
// expect: a Fork has a join, then two branches or more; write Fork<Add, A, B>
// names: regimen::Fork<
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<16>, Linear<16>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Linear<16>, Linear<16>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
