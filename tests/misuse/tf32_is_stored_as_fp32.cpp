// Weights in a format that products read and nobody stores.
// expect: products read tf32, and nothing is stored in it; write Precision<tf32>
// names: Precision<regimen::tf32, regimen::tf32
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<tf32>>;
#else
using Train = Trainer<Net, Precision<tf32, tf32>>;
#endif

int main() { return sizeof(Train) == 0; }
