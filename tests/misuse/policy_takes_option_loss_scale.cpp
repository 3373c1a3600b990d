// A loss scale as a bare type.
// expect: LossScale<\.\.\.> takes a loss scale; name None, Static<N> or Dynamic
// names: regimen::Every<2>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Every<2>>>;
#endif

int main() { return sizeof(Train) == 0; }
