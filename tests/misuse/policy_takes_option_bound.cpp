// A bound without its norm.
// expect: Clip<\.\.\.> takes a bound; name None or Norm<Ratio<\.\.\.>>
// names: regimen::in_order::Ratio<1
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Clip<Norm<Ratio<1>>>>;
#else
using Train = Trainer<Net, Clip<Ratio<1>>>;
#endif

int main() { return sizeof(Train) == 0; }
