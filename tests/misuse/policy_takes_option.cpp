// An element type in place of a schedule.
// expect: Checkpoint<\.\.\.> takes schedules; name None, Every<N>, Selective<\.\.\.>, If<P>, KeepLast<K>, Offload or Budget<B>
// names: regimen::bf16
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Net, Checkpoint<bf16>>;
#endif

int main() { return sizeof(Train) == 0; }
