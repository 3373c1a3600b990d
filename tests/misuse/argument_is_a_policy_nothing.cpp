// A type that has nothing to do with training.
// expect: this argument of Trainer decides nothing; write a policy, such as Batch<32> or Optimizer<AdamW>
// names: int
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, int>;
#endif

int main() { return sizeof(Train) == 0; }
