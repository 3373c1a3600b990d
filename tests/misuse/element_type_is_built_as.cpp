// An 8-bit format for one layer, for which there are no kernels yet.
// expect: fp8 formats are not built; write Precision<bf16, fp32>
// names: regimen::fp8_e5m2
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, As<bf16, Linear<16>>, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, As<fp8_e5m2, Linear<16>>, Linear<4>> {};
#endif

using Train = Trainer<Mlp, Precision<bf16, fp32>>;

int main() { return sizeof(Train) == 0; }
