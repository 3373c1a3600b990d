// A smoothing above one: the label would have a negative share, and the loss no minimum.
// expect: SmoothedCrossEntropy<Ratio<\.\.\.>> smooths by at least 0 and less than 1; write Ratio<1, 10>
// names: regimen::in_order::Ratio<3, 2>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<SmoothedCrossEntropy<Ratio<1, 10>>>>;
#else
using Train = Trainer<Net, Loss<SmoothedCrossEntropy<Ratio<3, 2>>>>;
#endif

int main() { return sizeof(Train) == 0; }
