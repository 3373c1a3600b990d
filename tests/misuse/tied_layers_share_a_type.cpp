// A table that is read in two element types.
// expect: an Embedding and its TiedLinear compute in one type; write both inside As<T, \.\.\.>, or neither
// names: regimen::Embedding<regimen::Vocabulary<16>, 8>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, As<fp32, Embedding<Vocabulary<16>, 8>>, LayerNorm, As<fp32, TiedLinear<Embedding<Vocabulary<16>, 8>>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, LayerNorm, As<fp32, TiedLinear<Embedding<Vocabulary<16>, 8>>>> {};
#endif

using Train = Trainer<Small, Precision<bf16, fp32>>;

int main() { return sizeof(Train) == 0; }
