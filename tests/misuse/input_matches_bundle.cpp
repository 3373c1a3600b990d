// A Linear that reads a whole Bundle.
// expect: this layer reads one value and is given a Bundle; put Part<I> before it
// names: regimen::Linear<16>
#include "../support/model_recipe.hpp"

#include <regimen/layer/part.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Part<0>, Linear<16>> {};
#else
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
