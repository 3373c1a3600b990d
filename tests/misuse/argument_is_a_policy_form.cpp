// A form of attention without its policy.
// expect: Tiled, Composed and Cudnn are forms, not policies; write Attention<Composed>
// names: regimen::Tiled
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Attention<Tiled>>;
#else
using Train = Trainer<Net, Tiled>;
#endif

int main() { return sizeof(Train) == 0; }
