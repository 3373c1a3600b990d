// A batch that is too large for the target, of a model without blocks to recompute: only a smaller one helps. The error names the
// largest that fits.
// expect: the plan needs more bytes than its Target has; lower the batch, or name a larger Target
// names: 20971520
// names: regimen::rule::Exceeds<
// names: regimen::Batch<334>
// names: regimen::rule::Owner<
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Wide : Model<Input<Vector<1024>>, Linear<1024>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Wide, Target<targets::host<20_MiB>>, Batch<334>>;
static_assert(!Composable<Wide, Target<targets::host<20_MiB>>, Batch<335>>);
#else
using Train = Trainer<Wide, Target<targets::host<20_MiB>>, Batch<10000>>;
#endif

int main() { return sizeof(Train) == 0; }
