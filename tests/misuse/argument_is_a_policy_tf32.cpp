// What products read, without its policy.
// expect: tf32 is how products read fp32, not a policy; write Precision<tf32>
// names: regimen::tf32
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<tf32>>;
#else
using Train = Trainer<Net, tf32>;
#endif

int main() { return sizeof(Train) == 0; }
