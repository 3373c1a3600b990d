// Waiting for each operation, on a device that always does.
// expect: this Device<\.\.\.> ends every operation before the next; leave Debug<Synchronous> out
// names: regimen::Synchronous
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Debug<Anomaly>>;
#else
using Train = Trainer<Net, Debug<Anomaly, Synchronous>>;
#endif

int main() { return sizeof(Train) == 0; }
