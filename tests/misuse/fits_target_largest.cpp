// Not even one sample fits, though the weights do, and there are no blocks to recompute.
// expect: one sample alone needs more bytes than the Target has; name a larger Target, or a smaller model
// names: 262144
// names: regimen::rule::Exceeds<
// names: regimen::rule::SampleAlone
#include "../support/model_recipe.hpp"

#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/pool.hpp>

using namespace regimen;

struct Long : Model<Input<Series<1000, 8>>, Conv1d<64, 3>, Relu, MeanPool, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Long, Target<targets::host<1_MiB>>, Batch<Largest>>;
#else
using Train = Trainer<Long, Target<targets::host<256_KiB>>, Batch<Largest>>;
#endif

int main() { return sizeof(Train) == 0; }
