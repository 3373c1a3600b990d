// Segments of three blocks in a model of two.
// expect: Checkpoint<Every<N>> needs N <= the number of blocks, less the K of KeepLast<K>; write a smaller N
// names: regimen::Every<3>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Net, Checkpoint<Every<3>>>;
#endif

int main() { return sizeof(Train) == 0; }
