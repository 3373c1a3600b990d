// The last two blocks of two are kept: nothing is left to recompute.
// expect: KeepLast<K> keeps the last K blocks of more, and this model has others; write 0 < K < their number
// names: regimen::KeepLast<2>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>, KeepLast<1>>>;
#else
using Train = Trainer<Net, Checkpoint<Every<1>, KeepLast<2>>>;
#endif

int main() { return sizeof(Train) == 0; }
