// An update rule where a policy belongs.
// expect: an update rule is an option, not a policy; write Optimizer<\.\.\.> around it
// names: regimen::AdamW
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<AdamW>>;
#else
using Train = Trainer<Net, AdamW>;
#endif

int main() { return sizeof(Train) == 0; }
