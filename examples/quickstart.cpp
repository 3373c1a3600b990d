#include <regimen/regimen.hpp>
#include <cstdio>
using namespace regimen;

using Block = Sequential<
    Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,
    Residual<LayerNorm, Linear<512>, Gelu, Linear<128>>>;
struct Gpt : Model<Input<Tokens<64>>, Embedding<Vocabulary<256>, 128>, PositionEmbedding,
                   Repeat<4, Block>, LayerNorm, Linear<256>> {};

using Train = Trainer<Gpt, Precision<bf16, fp32>, Target<targets::host<256_MiB>>, Batch<16>,
                      Optimizer<AdamW>, Checkpoint<Every<2>>, Init<Gpt2>>;   // policies, in any order

int main(int, char** argv) {
  auto [text, held_out] = Text(argv[1]).split(0.9);
  Train trainer{{.optimizer = {.learning_rate = 1e-3}}};
  trainer.fit(text, held_out.blocks(), {.steps = 500, .validate_every = 100});
  std::printf("planned %zu bytes, used %zu\n", Train::plan().peak, trainer.used().peak);
}
