// A schedule that chooses what to recompute, not built yet.
// expect: Checkpoint<Budget<\.\.\.>> is not built yet; write Checkpoint<Every<N>> with a Target<\.\.\.>
// names: regimen::Budget<85899345920>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>>, Target<targets::host<80_GiB>>>;
#else
using Train = Trainer<Net, Checkpoint<Budget<80_GiB>>>;
#endif

int main() { return sizeof(Train) == 0; }
