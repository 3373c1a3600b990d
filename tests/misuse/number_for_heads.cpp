// A number where a type stands. A template of C++20 takes types or values in one place, not both, so no header can answer with a sentence: the
// compiler says that a type is expected. The number of heads has a name, Heads<N>.
// compiler: (template argument for template type parameter must be a type|type/value mismatch at argument 1|expected a type specifier)
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<4>>, Linear<16>> {};
#else
struct Mlp : Model<Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, SelfAttention<4>, Linear<16>> {};
#endif

using Train = Trainer<Mlp>;

int main() { return sizeof(Train) == 0; }
