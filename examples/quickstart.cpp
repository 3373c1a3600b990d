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

int main(int argc, char** argv) try {
  if (argc != 2 || argv[1] == std::string("--help"))
    return std::puts("usage: quickstart TEXT"), argc == 2 ? 0 : 2;
  auto [text, held_out] = Text(argv[1]).split(0.9);
  Train trainer{{.optimizer = {.learning_rate = 1e-3}}};
  const Fitted fitted = trainer.fit(text, held_out.blocks(), {.steps = 500, .validate_every = 100});
  std::printf("planned %zu bytes, used %zu\n", Train::plan().peak, trainer.used().peak);
  return std::isfinite(fitted.loss) ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
