// A number where Optimizer takes what decays.
// expect: the second option of Optimizer<\.\.\.> says what decays; name DecayAll, or leave it out for products alone
// names: regimen::in_order::Ratio<1, 10>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Small : Model<Input<Vector<8>>, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Optimizer<AdamW, DecayAll>>;
#else
using Train = Trainer<Small, Optimizer<AdamW, Ratio<1, 10>>>;
#endif

int main() { return sizeof(Train) == 0; }
