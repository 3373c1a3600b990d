// An update rule where a loss belongs.
// expect: Loss<\.\.\.> takes a loss function; name one, such as CrossEntropy
// names: regimen::AdamW
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<CrossEntropy>, Optimizer<AdamW>>;
#else
using Train = Trainer<Net, Loss<AdamW>>;
#endif

int main() { return sizeof(Train) == 0; }
