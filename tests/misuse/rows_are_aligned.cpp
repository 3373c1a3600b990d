// Hidden layers of 4,095 numbers, whose rows tensor cores would read by halves.
// expect: rows of this layer are no multiples of 16 bytes, in more products than Unaligned<\.\.\.> allows; widen it
// names: regimen::Linear<4095
#include "../support/model_recipe.hpp"

#include <regimen/engine/cuda/traits.hpp>

using namespace regimen;

struct Gpu {
  using option_of = axis::device;
};
template <>
struct regimen::engine::Of<Gpu> {
  using Traits = cuda::Traits<0>;
};

struct Wide : Model<Input<Vector<64>>, Linear<4096>, Linear<50257>> {};
struct Odd : Model<Input<Vector<64>>, Linear<4095>, Linear<50257>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Wide, Device<Gpu>, Target<targets::h100, Unaligned<Ratio<1, 100>>>, Precision<bf16, fp32>>;
#else
using Train = Trainer<Odd, Device<Gpu>, Target<targets::h100, Unaligned<Ratio<1, 100>>>, Precision<bf16, fp32>>;
#endif

int main() { return sizeof(Train) == 0; }
