// A policy before the model.
// expect: the model comes first; write Trainer<Model, Policies\.\.\.>
// names: regimen::Batch<8>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Batch<8>, Net>;
#endif

int main() { return sizeof(Train) == 0; }
