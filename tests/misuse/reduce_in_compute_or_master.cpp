// Gradients in bf16, weights in fp32, and a third type for sums of gradients.
// expect: Precision<\.\.\., \.\.\., Reduce> sums gradients in Compute or Master; name one, or leave Reduce out
// names: regimen::Precision<regimen::bf16,
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32, bf16>>;
#else
using Train = Trainer<Net, Precision<bf16, fp32, fp16>>;
#endif

int main() { return sizeof(Train) == 0; }
