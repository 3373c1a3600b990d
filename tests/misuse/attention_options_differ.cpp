// Two dropout rates, of which one would be ignored.
// expect: attention has an option twice; keep one of each kind
// names: regimen::Dropout<regimen::in_order::Ratio<1, 5>>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, Dropout<Ratio<1, 10>>>;
#else
using Attend = SelfAttention<Heads<2>, Dropout<Ratio<1, 10>>, Dropout<Ratio<1, 5>>>;
#endif

struct Gpt : Model<Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, Attend, Linear<16>> {};
using Train = Trainer<Gpt>;

int main() { return sizeof(Train) == 0; }
