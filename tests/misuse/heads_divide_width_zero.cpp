// Attention without heads.
// expect: Heads<N> cuts the width into N equal heads; write an N that divides the width
// names: regimen::Heads<0>
// names: regimen::Shape<8, 8>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<1>>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<0>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
