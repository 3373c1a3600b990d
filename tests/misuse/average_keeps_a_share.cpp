// An average that would never move.
// expect: Averaged<\.\.\.> keeps a share of at least 0 and below 1; write Averaged<AdamW, Ratio<999, 1000>>
// names: Ratio<1
#include "../support/recipe.hpp"
#include <regimen/optimizer/averaged.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<Averaged<AdamW, Ratio<999, 1000>>>>;
#else
using Train = Trainer<Net, Optimizer<Averaged<AdamW, Ratio<1>>>>;
#endif

int main() { return sizeof(Train) == 0; }
