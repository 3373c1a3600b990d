// The mean over the positions of a vector, which has none.
// expect: this layer takes positions, not a vector; write Input<Series<Length, Channels>>, or an Embedding, and no Flatten
// names: regimen::Shape<8>
#include "../support/model_recipe.hpp"

#include <regimen/layer/patches.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Series<5, 8>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
