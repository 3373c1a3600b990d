// 16-bit master weights: updates below 2^-8 of a weight would be lost.
// expect: Precision<bf16> and Precision<fp16> would keep 16-bit weights; write Precision<bf16, fp32>
// names: regimen::Precision<regimen::bf16
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Precision<bf16>>;
#endif

int main() { return sizeof(Train) == 0; }
