// Convolutions by cuDNN, in a program that is compiled without it.
// expect: this program has no cuDNN; install it for CMake's regimen::cuda, or name another form
// names: regimen::Convolution<regimen::Cudnn>
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Convolution<Direct>, Device<Gpu<false>>>;
#else
using Train = Trainer<Net, Convolution<Cudnn>, Device<Gpu<false>>>;
#endif

int main() { return sizeof(Train) == 0; }
