// The fraction of another library, in a loss.
// expect: this fraction is no regimen::Ratio; write Ratio<1, 10> for a tenth
// names: std::ratio<1, 10>
#include "../support/recipe.hpp"

#include <ratio>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<SmoothedCrossEntropy<Ratio<1, 10>>>>;
#else
using Train = Trainer<Net, Loss<SmoothedCrossEntropy<std::ratio<1, 10>>>>;
#endif

int main() { return sizeof(Train) == 0; }
