// The override of one layer, where the precision of the model belongs.
// expect: As<T, Layer> wraps a layer inside the model; write Precision<T> to decide for all layers
// names: regimen::As<regimen::bf16,regimen::Linear<4>>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, As<bf16, Linear<4>>>;
#endif

int main() { return sizeof(Train) == 0; }
