// One layer in fp64 under fp32 master weights.
// expect: As<T, \.\.\.> mixes fp64 with narrower types; compute all of the model in Precision<fp64>, or none
// names: regimen::Precision<
#include "../support/recipe.hpp"

#include <regimen/verdict/model_rules.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Mixed : Model<Input<Vector<8>>, As<bf16, Linear<4>>, Linear<4>> {};
#else
struct Mixed : Model<Input<Vector<8>>, As<fp64, Linear<4>>, Linear<4>> {};
#endif
using Train = Trainer<Mixed, Batch<4>>;

int main() { return sizeof(Train) == 0; }
