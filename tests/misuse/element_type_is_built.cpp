// A format of products, not of numbers in memory.
// expect: tf32 is no element type, and fp32 means fp32 here; write Precision<fp32>, or Precision<bf16, fp32>
// names: regimen::tf32
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp32>>;
#else
using Train = Trainer<Net, Precision<tf32, fp32>>;
#endif

int main() { return sizeof(Train) == 0; }
