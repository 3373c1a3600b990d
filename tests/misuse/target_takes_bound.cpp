// A bound before the target.
// expect: Target<T, \.\.\.> takes the target first, then a bound; name Unaligned<Ratio<1, 100>>, or none
// names: regimen::Unaligned<regimen::in_order::Ratio<0
#include "../support/recipe.hpp"

#include <regimen/engine/cuda/traits.hpp>

using namespace regimen;

struct Gpu {
  using option_of = axis::device;
};
template <>
struct regimen::engine::Of<Gpu> {
  using Traits = cuda::Traits<0>;
};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Device<Gpu>, Target<targets::h100, Unaligned<Ratio<0>>>>;
#else
using Train = Trainer<Net, Device<Gpu>, Target<Unaligned<Ratio<0>>, targets::h100>>;
#endif

int main() { return sizeof(Train) == 0; }
