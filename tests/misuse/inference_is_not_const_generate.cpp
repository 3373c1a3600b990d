// Text from an Inference that is const.
// expect: a const Inference neither predicts nor loads; leave out const, or call its share\(\) for one
// names: regimen::Inference<Net>
#include <regimen/regimen.hpp>

using namespace regimen;

using Attend = SelfAttention<Heads<2>, Causal>;
struct Net : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Residual<LayerNorm, Attend>, Linear<16>> {};

int main() {
#ifndef REGIMEN_MISUSE
  Inference<Net> model("net.safetensors");
#else
  const Inference<Net> model("net.safetensors");
#endif
  return generate(model, std::vector<std::int32_t>{1, 2}, 10).front();
}
