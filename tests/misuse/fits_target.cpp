// A batch that is too large for the target. The error shows the bytes needed, the bytes available and their difference, then the
// largest batch that fits, and the largest owners. Recomputing the blocks would do, too.
// expect: the plan needs more bytes than its Target has; lower the batch, or add Checkpoint<Every<1>>
// names: 6291456
// names: regimen::rule::Exceeds<
// names: regimen::rule::Either<regimen::Batch<103>
// names: regimen::rule::Owner<regimen::Linear<256>
#include "../support/model_recipe.hpp"

using namespace regimen;

using Block = Residual<Linear<256>, Gelu, Linear<64>>;
struct Deep : Model<Input<Vector<8>>, Linear<64>, Repeat<8, Block>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Target<targets::host<6_MiB>>, Batch<103>>;
static_assert(!Composable<Deep, Target<targets::host<6_MiB>>, Batch<104>>);
static_assert(Composable<Deep, Target<targets::host<6_MiB>>, Batch<256>, Checkpoint<Every<1>>>);
#else
using Train = Trainer<Deep, Target<targets::host<6_MiB>>, Batch<256>>;
#endif

int main() { return sizeof(Train) == 0; }
