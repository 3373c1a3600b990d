// A bound where a policy belongs.
// expect: Norm<\.\.\.> is a bound, not a policy; write Clip<Norm<Ratio<1>>>
// names: regimen::Norm<regimen::in_order::Ratio<1
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Clip<Norm<Ratio<1>>>>;
#else
using Train = Trainer<Net, Norm<Ratio<1>>>;
#endif

int main() { return sizeof(Train) == 0; }
