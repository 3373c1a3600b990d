// A base of rotary frequencies that has no powers.
// expect: Rotary<Theta> takes a Ratio above zero; write Rotary<>, or Rotary<Ratio<500'000>>
// names: regimen::in_order::Ratio<0
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Positions = Rotary<Ratio<500'000>>;
#else
using Positions = Rotary<Ratio<0>>;
#endif

struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<4>, Positions>, Linear<16>> {};
using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
