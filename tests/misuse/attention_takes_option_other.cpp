// A layer among the options of attention.
// expect: SelfAttention takes Heads<N> first, then its own options, as Causal or Rotary<>; write no other option
// names: regimen::LayerNorm
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, LayerNorm, SelfAttention<Heads<2>, Causal>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, LayerNorm, Causal>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
