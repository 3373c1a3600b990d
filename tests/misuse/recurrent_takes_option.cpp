// The width of the input, as PyTorch takes it, before that of the output.
// expect: Lstm<N> and Gru<N> take the width of their output, then at most NoBias; write no other option
// names: regimen::Lstm<8
#include "../support/model_recipe.hpp"

#include <regimen/layer/recurrent.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<4>>, Embedding<Vocabulary<9>, 8>, Lstm<6, NoBias>, Linear<9>> {};
#else
struct Small : Model<Input<Tokens<4>>, Embedding<Vocabulary<9>, 8>, Lstm<8, 6>, Linear<9>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
