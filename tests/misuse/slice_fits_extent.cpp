// More channels than there are.
// expect: a slice takes one element of its axis or more; write a Begin and a Count that lie inside it
// names: regimen::Slice<6, 4>
// names: regimen::Shape<8>
#include "../support/model_recipe.hpp"

#include <regimen/layer/slice.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Slice<4, 4>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Slice<6, 4>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
