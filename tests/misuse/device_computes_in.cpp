// bf16 in a program for GPUs that have none: nvcc compiles it for sm_75, which this device stands for.
// expect: bf16 and tf32 need a GPU from sm_80 on; compile for sm_80, or write Precision<fp32>
// names: regimen::Device<Turing>
#include "../support/recipe.hpp"

#include <regimen/engine/cuda/traits.hpp>

using namespace regimen;

struct Turing {
  using option_of = axis::device;
};
template <>
struct regimen::engine::Of<Turing> {
  using Traits = cuda::Traits<0, 750>;
};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Device<Turing>, Precision<fp32>>;
#else
using Train = Trainer<Net, Device<Turing>, Precision<bf16, fp32>>;
#endif

int main() { return sizeof(Train) == 0; }
