// A loss where an update rule belongs.
// expect: Optimizer<\.\.\.> takes an update rule; name one, such as AdamW
// names: regimen::CrossEntropy
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<AdamW>, Loss<CrossEntropy>>;
#else
using Train = Trainer<Net, Optimizer<CrossEntropy>>;
#endif

int main() { return sizeof(Train) == 0; }
