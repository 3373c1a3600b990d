// Three heads share eight channels.
// expect: Heads<N> cuts the width into N equal heads; write an N that divides the width
// names: regimen::Heads<3>
// names: regimen::Shape<8, 8>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<3>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
