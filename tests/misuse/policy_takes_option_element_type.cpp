// An element type that does not exist.
// expect: Precision<\.\.\.> takes element types; name fp64, fp32, tf32, bf16 or fp16
// names: int
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp32>>;
#else
using Train = Trainer<Net, Precision<int>>;
#endif

int main() { return sizeof(Train) == 0; }
