// Attention with a dropout rate above one.
// expect: Dropout<Ratio<\.\.\.>> drops at least 0 and less than 1; write Dropout<Ratio<1, 10>>
// names: regimen::in_order::Ratio<3, 2>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Dropout<Ratio<1, 10>>>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Dropout<Ratio<3, 2>>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
