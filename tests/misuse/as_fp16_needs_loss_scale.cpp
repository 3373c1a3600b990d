// One layer in fp16, without a loss scale.
// expect: As<fp16, \.\.\.> needs Precision<fp16, fp32> and LossScale<Dynamic>; write As<bf16, \.\.\.>, or add them
// names: regimen::fp16
#include "../support/recipe.hpp"

#include <regimen/verdict/model_rules.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Mixed : Model<Input<Vector<8>>, As<bf16, Linear<4>>, Linear<4>> {};
#else
struct Mixed : Model<Input<Vector<8>>, As<fp16, Linear<4>>, Linear<4>> {};
#endif
using Train = Trainer<Mixed, Batch<4>>;

int main() { return sizeof(Train) == 0; }
