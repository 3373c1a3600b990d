// The output shares the weights of a Linear.
// expect: TiedLinear<\.\.\.> shares the table of an Embedding; write TiedLinear<Embedding<\.\.\.>>
// names: regimen::Linear<8>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Linear<8>, TiedLinear<Embedding<Vocabulary<16>, 8>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Linear<8>, TiedLinear<Linear<8>>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
