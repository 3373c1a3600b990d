// A step without micro-batches.
// expect: Accumulate<N> needs N >= 1; write Accumulate<1>, or leave it out
// names: regimen::Accumulate<0>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Accumulate<4>>;
#else
using Train = Trainer<Net, Accumulate<0>>;
#endif

int main() { return sizeof(Train) == 0; }
