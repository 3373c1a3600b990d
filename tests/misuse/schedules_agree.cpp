// Two schedules of blocks.
// expect: Checkpoint takes one of Every<N> and Offload, one of Selective<\.\.\.> and If<P>, then KeepLast<K>; keep these
// names: regimen::Checkpoint<regimen::Every<1>, regimen::Every<2>>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Net, Checkpoint<Every<1>, Every<2>>>;
#endif

int main() { return sizeof(Train) == 0; }
