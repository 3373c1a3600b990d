// An 8-bit format, for which there are no kernels yet.
// expect: fp8 formats are not built; write Precision<bf16, fp32>
// names: regimen::fp8_e4m3
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Precision<fp8_e4m3, fp32>>;
#endif

int main() { return sizeof(Train) == 0; }
