// A loss scale where a policy belongs.
// expect: Static<N> and Dynamic are loss scales, not policies; write LossScale<Dynamic>
// names: regimen::Dynamic
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32>, Dynamic>;
#endif

int main() { return sizeof(Train) == 0; }
