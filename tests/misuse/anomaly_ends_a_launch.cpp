// A check that ends the run at a step, with several steps in a launch.
// expect: Debug<Anomaly> stops at the step that finds one; it needs Steps<1>
// names: regimen::Steps<8
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Debug<Anomaly>>;
#else
using Train = Trainer<Net, Debug<Anomaly>, Steps<8>>;
#endif

int main() { return sizeof(Train) == 0; }
