// Selective without layers.
// expect: Checkpoint<Selective<\.\.\.>> needs at least one layer; name it, or write Checkpoint<None>
// names: regimen::Selective<>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Selective<Linear<4>>>>;
#else
using Train = Trainer<Net, Checkpoint<Selective<>>>;
#endif

int main() { return sizeof(Train) == 0; }
