// The output layer shares a table that the model does not have.
// expect: a tied layer shares the weights of a layer that this model lacks; name one that it has
// names: regimen::Embedding<regimen::Vocabulary<32>, 8>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, LayerNorm, TiedLinear<Embedding<Vocabulary<16>, 8>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, LayerNorm, TiedLinear<Embedding<Vocabulary<32>, 8>>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
