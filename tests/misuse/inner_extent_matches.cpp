// A tied output layer after a layer of another width than its table.
// expect: this layer reads another extent than the one before it writes; make the two equal
// names: regimen::Shape<8, 8>
// names: regimen::Shape<8, 16>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 8>, Linear<16>, Relu, Linear<8>, TiedLinear<Embedding<Vocabulary<32>, 8>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 8>, Linear<16>, TiedLinear<Embedding<Vocabulary<32>, 8>>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
