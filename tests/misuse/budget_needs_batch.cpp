// The largest batch, and what is recomputed for it, both to be chosen.
// expect: Budget<Bytes> chooses for a given batch; write Batch<N>, or Every<N> in place of Budget
// names: regimen::Budget<4294967296>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<64>, Checkpoint<Budget<4_GiB>>, Target<targets::host<8_GiB>>>;
#else
using Train = Trainer<Net, Batch<Largest>, Checkpoint<Budget<4_GiB>>, Target<targets::host<8_GiB>>>;
#endif

int main() { return sizeof(Train) == 0; }
