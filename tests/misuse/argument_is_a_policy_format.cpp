// A number format that is not built, without its policy.
// expect: fp8 formats are not built, and no policies; write Precision<bf16, fp32>
// names: regimen::fp8_e5m2
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, fp8_e5m2>;
#endif

int main() { return sizeof(Train) == 0; }
