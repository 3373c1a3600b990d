// The second of two values is Part<1>.
// expect: this Bundle has fewer values than Part<I> counts, from 0 on; write a smaller I
// names: regimen::Part<2>
#include "../support/model_recipe.hpp"

#include <regimen/layer/part.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Part<1>, Linear<16>> {};
#else
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Part<2>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
