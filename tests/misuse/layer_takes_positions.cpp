// A recurrent layer behind a Flatten, which leaves no positions.
// expect: this layer takes positions, not a vector; write Input<Series<Length, Channels>>, or an Embedding, and no Flatten
// names: regimen::Shape<32>
#include "../support/model_recipe.hpp"

#include <regimen/layer/recurrent.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<4>>, Embedding<Vocabulary<9>, 8>, Gru<6>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Tokens<4>>, Embedding<Vocabulary<9>, 8>, Flatten, Gru<6>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
