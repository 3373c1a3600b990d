// A model in the shape of Llama 3.2 1B, trained as the quickstart trains its GPT: what its layers cost to compile.
#include <regimen/regimen.hpp>

#include <cmath>

using namespace regimen;

namespace {
using Attend = SelfAttention<Heads<32>, KeyHeads<8>, Causal, WithoutBias, Rotary<Ratio<500'000>, Llama3Scaling<>>>;
using Gate = Fork<Multiply, Sequential<Linear<8192, NoBias>, Silu>, Linear<8192, NoBias>>;
using Words = Embedding<Vocabulary<128256>, 2048>;
struct Llama : Model<Input<Tokens<2048>>, Words,
                     Repeat<16, Sequential<Residual<RmsNorm, Attend>, Residual<RmsNorm, Gate, Linear<2048, NoBias>>>>,
                     RmsNorm, TiedLinear<Words>> {};

using Train = Trainer<Llama, Precision<fp32>, Target<targets::host<64_GiB>>, Batch<1>, Optimizer<AdamW>,
                      Checkpoint<Every<2>>, Init<Gpt2>>;
}  // namespace

int main(int, char** argv) {
  auto [text, held_out] = Text(argv[1]).split(0.9);
  Train trainer{{.optimizer = {.learning_rate = 1e-3}}};
  const Fitted fitted = trainer.fit(text, held_out.blocks(), {.steps = 500, .validate_every = 100});
  return std::isfinite(fitted.loss) && Train::plan().peak == trainer.used().peak ? 0 : 1;
}
