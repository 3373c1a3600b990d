// The same with a batch that is given for all ranks.
// expect: the plan needs more bytes than its Target has; lower the batch, or name a larger Target
// names: 20971520
// names: regimen::rule::Exceeds<
// names: regimen::GlobalBatch<334>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Wide : Model<Input<Vector<1024>>, Linear<1024>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Wide, Target<targets::host<20_MiB>>, GlobalBatch<334>, World<1>>;
static_assert(Composable<Wide, Target<targets::host<20_MiB>>, GlobalBatch<10000>, World<1>, Accumulate<100>>);
#else
using Train = Trainer<Wide, Target<targets::host<20_MiB>>, GlobalBatch<10000>, World<1>>;
#endif

int main() { return sizeof(Train) == 0; }
