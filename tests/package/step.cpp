// Steps of a small network: linked with regimen::compiled, the same bits as without it.
#include <regimen/regimen.hpp>

#include <cstdio>
#include <vector>

using namespace regimen;

using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                         Residual<LayerNorm, Linear<32>, GeluTanh, Linear<16>>>;
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, PositionEmbedding, Repeat<2, Block>, LayerNorm,
                   Linear<16>> {};

int main() {
  Trainer<Gpt, Precision<bf16, fp32>, Batch<4>> trainer;
  std::vector<std::int32_t> tokens(32), targets(32);
  for (std::size_t i = 0; i < 32; ++i)
    tokens[i] = static_cast<std::int32_t>(i * 7 % 16), targets[i] = static_cast<std::int32_t>(i * 5 % 16);
  for (int step = 0; step < 5; ++step) std::printf("%a\n", trainer.step(tokens, targets).loss);
}
