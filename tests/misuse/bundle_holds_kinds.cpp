// A Bundle in a Bundle.
// expect: a Bundle holds Tokens, Vector, Series, Image, Volume; write one or more, and no Bundle among them
// names: regimen::Bundle<regimen::Vector<8>, regimen::Bundle<regimen::Vector<4>>>
#include "../support/model_recipe.hpp"

#include <regimen/layer/part.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Part<0>, Linear<16>> {};
#else
struct Small : Model<Input<Bundle<Vector<8>, Bundle<Vector<4>>>>, Part<0>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
