// A batch that is too large even where blocks are recomputed, and without recomputation too large at one sample.
// expect: the plan needs more bytes than its Target has; add Checkpoint<Every<1>>, and lower the batch
// names: regimen::Batch<1>
// names: regimen::Checkpoint<regimen::Every<1>>
#include "../support/model_recipe.hpp"

using namespace regimen;

using Block = Residual<Linear<256>, Gelu, Linear<64>>;
struct Deep : Model<Input<Vector<8>>, Linear<64>, Repeat<8, Block>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Target<targets::host<4_MiB + 65'000>>, Batch<1>, Checkpoint<Every<1>>>;
#else
using Train = Trainer<Deep, Target<targets::host<4_MiB + 65'000>>, Batch<256>>;
#endif

int main() { return sizeof(Train) == 0; }
