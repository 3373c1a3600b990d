// A table that is frozen where it is read, and trains where it makes logits.
// expect: an Embedding and its TiedLinear train together; write both inside Frozen<\.\.\.>, or neither
// names: regimen::Embedding<regimen::Vocabulary<16>, 8>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Frozen<Embedding<Vocabulary<16>, 8>>, LayerNorm,
                     Frozen<TiedLinear<Embedding<Vocabulary<16>, 8>>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Frozen<Embedding<Vocabulary<16>, 8>>, LayerNorm,
                     TiedLinear<Embedding<Vocabulary<16>, 8>>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
