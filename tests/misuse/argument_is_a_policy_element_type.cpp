// An element type where a policy belongs.
// expect: bf16 is an element type, not a policy; write Precision<bf16, fp32>
// names: regimen::bf16
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, bf16>;
#endif

int main() { return sizeof(Train) == 0; }
