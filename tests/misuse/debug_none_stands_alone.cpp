// Debug with None and a check.
// expect: Debug<\.\.\.> takes None or checks, not both; take None out
// names: regimen::Debug<regimen::None,regimen::Anomaly>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Debug<Anomaly>>;
#else
using Train = Trainer<Net, Debug<None, Anomaly>>;
#endif

int main() { return sizeof(Train) == 0; }
