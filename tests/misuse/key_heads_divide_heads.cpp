// Three key heads for four heads.
// expect: KeyHeads<K> are each shared by equally many heads; write a K that divides N in Heads<N>
// names: regimen::KeyHeads<3>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<4>, KeyHeads<2>>;
#else
using Attend = SelfAttention<Heads<4>, KeyHeads<3>>;
#endif

struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Attend, Linear<16>> {};
using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
