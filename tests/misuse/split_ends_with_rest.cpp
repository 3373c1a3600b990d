// A Split of update rules, which says nothing of parameters.
// expect: Split<\.\.\.> lacks groups; give it up to three, such as Matrices<Muon>, and end with Rest<AdamW>
// names: Split<regimen::Muon, regimen::AdamW
#include "../support/recipe.hpp"
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/split.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<Split<Matrices<Muon>, Rest<AdamW>>>>;
#else
using Train = Trainer<Net, Optimizer<Split<Muon, AdamW>>>;
#endif

int main() { return sizeof(Train) == 0; }
