// A batch that is too large for the target. The error shows the bytes needed, the bytes available, and the largest owners.
// expect: the plan needs more bytes than its Target has; lower Batch<N>, or add Checkpoint<Every<1>>
// names: 67108864
// names: regimen::Owner<regimen::Linear<4096>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Wide : Model<Input<Vector<8>>, Linear<4096>, Relu, Linear<4096>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Wide, Target<targets::host<1_GiB>>, Batch<32>>;
#else
using Train = Trainer<Wide, Target<targets::host<64_MiB>>, Batch<32>>;
#endif

int main() { return sizeof(Train) == 0; }
