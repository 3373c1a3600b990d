// A form of attention that stores scores, on the CPU, whose engine stores none.
// expect: this Device<\.\.\.> has no such form of attention; leave Attention<\.\.\.> out, or write Device<Cuda>
// names: regimen::Attention<regimen::Composed>
// names: regimen::Device<regimen::Cpu>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Attention<Tiled>, Device<Cpu>>;
#else
using Train = Trainer<Net, Attention<Composed>, Device<Cpu>>;
#endif

int main() { return sizeof(Train) == 0; }
