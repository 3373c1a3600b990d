// A target where a policy belongs.
// expect: a target is an option, not a policy; write Target<\.\.\.> around it
// names: regimen::targets::h200
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<targets::h200>>;
#else
using Train = Trainer<Net, targets::h200>;
#endif

int main() { return sizeof(Train) == 0; }
