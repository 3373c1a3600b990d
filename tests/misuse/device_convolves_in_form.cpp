// Convolutions by cuDNN, on the CPU.
// expect: this Device<\.\.\.> has no such form of convolution; leave Convolution<\.\.\.> out, or write Device<Cuda>
// names: regimen::Convolution<regimen::Cudnn>
// names: regimen::Device<regimen::Cpu>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Convolution<>, Device<Cpu>>;
#else
using Train = Trainer<Net, Convolution<Cudnn>, Device<Cpu>>;
#endif

int main() { return sizeof(Train) == 0; }
