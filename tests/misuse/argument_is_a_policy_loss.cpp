// A loss function where a policy belongs.
// expect: a loss function is an option, not a policy; write Loss<\.\.\.> around it
// names: regimen::CrossEntropy
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<CrossEntropy>>;
#else
using Train = Trainer<Net, CrossEntropy>;
#endif

int main() { return sizeof(Train) == 0; }
