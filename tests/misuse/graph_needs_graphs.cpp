// Without graphs, on a device that has none.
// expect: this Device<\.\.\.> has no graphs, so Graph<Off> changes nothing; leave it out
// names: regimen::Graph<regimen::Off>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Graph<Off>>;
#endif

int main() { return sizeof(Train) == 0; }
