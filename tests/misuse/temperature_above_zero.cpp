// A temperature of zero.
// expect: NtXent<Ratio<\.\.\.>> divides by a temperature above zero; write NtXent<Ratio<1, 2>>
// names: regimen::in_order::Ratio<0
#include "../support/recipe.hpp"

#include <regimen/loss/nt_xent.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<NtXent<Ratio<1, 10>>>>;
#else
using Train = Trainer<Net, Loss<NtXent<Ratio<0>>>>;
#endif

int main() { return sizeof(Train) == 0; }
