// Two policies of one axis.
// expect: two policies decide the same axis; keep one of them
// names: regimen::Batch<8>,regimen::Batch<16>
// names: regimen::axis::batch
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Precision<bf16, fp32>, Batch<16>>;
#endif

int main() { return sizeof(Train) == 0; }
