// A launch of no steps.
// expect: Steps<K> needs K >= 1; write Steps<1>, or leave it out
// names: regimen::Steps<0
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Steps<4>>;
#else
using Train = Trainer<Net, Steps<0>>;
#endif

int main() { return sizeof(Train) == 0; }
