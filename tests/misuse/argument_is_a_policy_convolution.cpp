// A form of convolution without its policy.
// expect: Blocks and Cudnn are forms, not policies; write Convolution<Cudnn>
// names: regimen::Blocks
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Convolution<>>;
#else
using Train = Trainer<Net, Blocks>;
#endif

int main() { return sizeof(Train) == 0; }
