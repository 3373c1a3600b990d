// A bound of zero.
// expect: Huber<Ratio<\.\.\.>> is quadratic up to a bound above zero; write Huber<Ratio<1>>
// names: regimen::in_order::Ratio<0
#include "../support/recipe.hpp"

#include <regimen/loss/pointwise.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<Huber<Ratio<1, 2>>>>;
#else
using Train = Trainer<Net, Loss<Huber<Ratio<0>>>>;
#endif

int main() { return sizeof(Train) == 0; }
