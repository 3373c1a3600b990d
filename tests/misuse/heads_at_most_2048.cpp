// One head of 2064 channels.
// expect: attention takes heads of at most 2048 channels; write a larger N in Heads<N>, or a smaller HeadWidth<D>
// names: regimen::Heads<1>
// names: 2064
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Wide : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 2064>, SelfAttention<Heads<2>>, Linear<16>> {};
#else
struct Wide : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 2064>, SelfAttention<Heads<1>>, Linear<16>> {};
#endif

using Train = Trainer<Wide>;

int main() { return sizeof(Train) == 0; }
