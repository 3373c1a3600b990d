// A number format that is not built, without its policy.
// expect: tf32 and fp8 formats are not built, and no policies; write Precision<fp32>, or Precision<bf16, fp32>
// names: regimen::tf32
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, tf32>;
#endif

int main() { return sizeof(Train) == 0; }
