// An Embedding that reads numbers.
// expect: this layer looks up tokens and is given numbers; write Input<Tokens<T>>, or another layer
// names: regimen::Embedding<regimen::Vocabulary<16>, 8>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Linear<16>> {};
#else
struct Small : Model<Input<Vector<8>>, Embedding<Vocabulary<16>, 8>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
