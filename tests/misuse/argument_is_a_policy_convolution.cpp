// A form of convolution without its policy.
// expect: Direct and Cudnn are forms, not policies; write Convolution<Cudnn>
// names: regimen::Direct
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Convolution<>>;
#else
using Train = Trainer<Net, Direct>;
#endif

int main() { return sizeof(Train) == 0; }
