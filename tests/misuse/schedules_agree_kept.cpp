// Blocks that are not recomputed, without any that are.
// expect: Checkpoint takes one of Every<N> and Offload, one of Selective<\.\.\.> and If<P>, then KeepLast<K>; keep these
// names: regimen::Checkpoint<regimen::KeepLast<1>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>, KeepLast<1>>>;
#else
using Train = Trainer<Net, Checkpoint<KeepLast<1>>>;
#endif

int main() { return sizeof(Train) == 0; }
