// Attention to another text, by cuDNN.
// expect: Attention<Cudnn> has no keys of another text; write Attention<Composed> or Attention<Tiled>
// names: AttendTo<Other
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

struct Other : NamedValue<Shape<8, 16>> {};
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Keep<Other>, Linear<12>,
                     CrossAttention<Other, Heads<4>>, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Precision<bf16, fp32>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

int main() { return sizeof(Train) == 0; }
