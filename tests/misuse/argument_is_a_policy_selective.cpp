// A selection where a policy belongs.
// expect: Selective<\.\.\.> is a schedule, not a policy; write Checkpoint<Selective<\.\.\.>>
// names: regimen::Selective<regimen::Linear<4>>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Selective<Linear<4>>>>;
#else
using Train = Trainer<Net, Selective<Linear<4>>>;
#endif

int main() { return sizeof(Train) == 0; }
