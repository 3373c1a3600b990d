// A user's policy for an axis that nothing reads.
// expect: nothing reads the axis of this policy; take it out, or decide an axis of regimen::axis
// names: Sampling
#include "../support/recipe.hpp"

using namespace regimen;

struct Sampling final {
  using axis = Sampling;
};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Sampling>;
#endif

int main() { return sizeof(Train) == 0; }
