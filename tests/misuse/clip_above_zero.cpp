// A bound of zero: every gradient would vanish.
// expect: Clip<Norm<Ratio<\.\.\.>>> needs a bound above zero; write Clip<Norm<Ratio<1>>>
// names: regimen::Clip<regimen::Norm<regimen::in_order::Ratio<0
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Clip<Norm<Ratio<1>>>>;
#else
using Train = Trainer<Net, Clip<Norm<Ratio<0>>>>;
#endif

int main() { return sizeof(Train) == 0; }
