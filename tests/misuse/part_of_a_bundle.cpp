// Part of an input of one value.
// expect: Part<I> is a value of a Bundle; write Input<Bundle<\.\.\.>>, or leave Part out
// names: regimen::Part<0>
#include "../support/model_recipe.hpp"

#include <regimen/layer/part.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<16>> {};
#else
struct Small : Model<Input<Vector<8>>, Part<0>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
