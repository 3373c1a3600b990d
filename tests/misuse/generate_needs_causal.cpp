// Text from a model whose attention sees later positions.
// expect: generate needs layers that read no later position; write Causal, CausalPadding, LayerNorm for GroupNorm
// names: Net
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, Causal>;
#else
using Attend = SelfAttention<Heads<2>>;
#endif
struct Net : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Repeat<2, Residual<LayerNorm, Attend>>, Linear<16>> {};

int main() {
  Trainer<Net, Batch<4>> trainer;
  trainer.fit(Text{"input.txt"}, {.steps = 100});
  trainer.generate(std::vector<std::int32_t>{1, 2}, 20);
}
