// A policy of one's own that decides something nobody asks for.
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
