// The largest batch, without a limit of memory.
// expect: Batch<Largest> needs memory to fill; add Target<targets::h200> or your own, or write Batch<32>
// names: regimen::Target<regimen::targets::unlimited>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<Largest>, Target<targets::host<8_GiB>>>;
#else
using Train = Trainer<Net, Batch<Largest>>;
#endif

int main() { return sizeof(Train) == 0; }
