// A layer before its element type.
// expect: As<T, Layers\.\.\.> computes in T; write fp64, fp32, tf32, bf16 or fp16 first, then the layers
// names: regimen::LayerNorm
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, As<fp32, LayerNorm>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, As<LayerNorm, fp32>, Linear<4>> {};
#endif

using Train = Trainer<Small, Precision<bf16, fp32>>;

int main() { return sizeof(Train) == 0; }
