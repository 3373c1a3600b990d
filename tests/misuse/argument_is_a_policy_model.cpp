// A second model.
// expect: a Trainer trains one model; write it first and once, then the policies
// names: regimen::Net
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Net>;
#endif

int main() { return sizeof(Train) == 0; }
