// A Linear that reads token ids.
// expect: this layer computes on numbers and is given tokens; put Embedding<\.\.\.> before it
// names: regimen::Linear<16>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
