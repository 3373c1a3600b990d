// A scale of zero: every gradient would be zero.
// expect: Static<N> and DynamicScale<N, Interval> need N >= 1 and Interval >= 1; write Static<1024>, or Dynamic
// names: regimen::LossScale<regimen::Static<0>>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Static<1024>>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Static<0>>>;
#endif

int main() { return sizeof(Train) == 0; }
