// Segments without blocks.
// expect: Checkpoint<Every<N>> needs N >= 1; write Checkpoint<Every<1>>, or Checkpoint<None>
// names: regimen::Every<0>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>>>;
#else
using Train = Trainer<Net, Checkpoint<Every<0>>>;
#endif

int main() { return sizeof(Train) == 0; }
