// A mask for a loss of classes, which leaves out ignore_index by itself.
// expect: Masked<\.\.\.> takes a loss of numbers, such as MeanSquaredError; in CrossEntropy write ignore_index
// names: regimen::CrossEntropy
#include "../support/recipe.hpp"

#include <regimen/loss/masked.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<CrossEntropy>>;
#else
using Train = Trainer<Net, Loss<Masked<CrossEntropy>>>;
#endif

int main() { return sizeof(Train) == 0; }
