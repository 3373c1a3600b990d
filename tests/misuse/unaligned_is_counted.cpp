// A bound for tensor cores, on the CPU.
// expect: rows are counted in plans for a GPU alone; take Unaligned<\.\.\.> out, or write Device<Cuda>
// names: regimen::Device<regimen::Cpu>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<targets::h100>>;
#else
using Train = Trainer<Net, Target<targets::h100, Unaligned<Ratio<1, 10>>>>;
#endif

int main() { return sizeof(Train) == 0; }
