// A batch without samples.
// expect: Batch<N> needs N >= 1; write Batch<32>, or Batch<Largest> with a Target
// names: regimen::Batch<0>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<32>>;
#else
using Train = Trainer<Net, Batch<0>>;
#endif

int main() { return sizeof(Train) == 0; }
