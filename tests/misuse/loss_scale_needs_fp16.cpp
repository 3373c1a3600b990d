// A loss scale under bf16, whose exponents reach as low as fp32's: it would cost a pass and gain nothing.
// expect: LossScale<\.\.\.> serves fp16 alone; take it out, or compute in Precision<fp16, fp32>
// names: regimen::Precision<regimen::bf16,
// names: regimen::LossScale<regimen::Dynamic>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Precision<bf16, fp32>, LossScale<Dynamic>>;
#endif

int main() { return sizeof(Train) == 0; }
