// Logits in 16 bits.
// expect: As<T, \.\.\.> narrows the output of this model below fp32; take it off the last layer
// names: bf16
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, As<bf16, Linear<16>>, Linear<10>> {};
#else
struct Small : Model<Input<Vector<8>>, Linear<16>, As<bf16, Linear<10>>> {};
#endif

using Train = Trainer<Small, Precision<bf16, fp32>>;

int main() { return sizeof(Train) == 0; }
