// A schedule where a policy belongs.
// expect: Every<N> is a schedule, not a policy; write Checkpoint<Every<N>>
// names: regimen::Every<2>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Net, Every<2>>;
#endif

int main() { return sizeof(Train) == 0; }
