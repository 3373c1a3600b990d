// Freezes attention, which consists of several layers.
// expect: Freeze<\.\.\.> freezes single layers, such as Embedding<\.\.\.> or Linear<N>; name these
// names: regimen::in_order::SelfAttention<regimen::Heads<2>, regimen::Causal>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Repeat<2, Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>>, LayerNorm, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Gpt, Freeze<Embedding<Vocabulary<16>, 8>>>;
#else
using Train = Trainer<Gpt, Freeze<SelfAttention<Heads<2>, Causal>>>;
#endif

int main() { return sizeof(Train) == 0; }
