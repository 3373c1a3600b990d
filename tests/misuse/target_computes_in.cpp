// fp16 on a target that does not support it.
// expect: this target does not compute in this element type; write Precision<bf16, fp32>, or another Target
// names: regimen::Target<regimen::targets::tpu_v3_core>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<targets::tpu_v3_core>, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Target<targets::tpu_v3_core>, Precision<fp16, fp32>, LossScale<Dynamic>>;
#endif

int main() { return sizeof(Train) == 0; }
