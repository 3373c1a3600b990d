// Attention to another text, in the form of attention that a GPU has by default.
// expect: on a GPU CrossAttention has one form, Attention<Tiled>; add that policy
// names: AttendTo<Other
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

struct Other : NamedValue<Shape<8, 16>> {};
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Keep<Other>, Linear<12>,
                     CrossAttention<Other, Heads<4>>, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Attention<Tiled>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Device<Gpu<true>>>;
#endif

int main() { return sizeof(Train) == 0; }
