// Weights in fp64 that no product reads in fp64.
// expect: Precision<\.\.\., fp64> serves fp64 products alone; write Precision<\.\.\., fp32>, or Precision<fp64>
// names: regimen::Precision<regimen::bf16,
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Precision<bf16, fp64>>;
#endif

int main() { return sizeof(Train) == 0; }
