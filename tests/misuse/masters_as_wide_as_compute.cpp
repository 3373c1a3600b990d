// Products in fp64 and weights in fp32: every update would be rounded to fp32.
// expect: Precision<fp64, \.\.\.> keeps fp64 weights; write Precision<fp64>, or Precision<fp32>
// names: regimen::Precision<
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp64>>;
#else
using Train = Trainer<Net, Precision<fp64, fp32>>;
#endif

int main() { return sizeof(Train) == 0; }
