// Recomputes a composite of several layers.
// expect: Selective<\.\.\.> recomputes single layers, such as LayerNorm or Gelu; name these, or write Every<N>
// names: regimen::in_order::SelfAttention<regimen::Heads<2>, regimen::Causal>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Repeat<2, Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>>, LayerNorm, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Gpt, Checkpoint<Selective<LayerNorm>>>;
#else
using Train = Trainer<Gpt, Checkpoint<Selective<SelfAttention<Heads<2>, Causal>>>>;
#endif

int main() { return sizeof(Train) == 0; }
