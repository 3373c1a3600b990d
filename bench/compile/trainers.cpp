// bench/compile/trainers.cpp — a program with one Trainer, or with three more, of other models or precisions: emitted.sh counts the functions of
// each. SAVES: each Trainer saves, loads and evaluates, too.
#include <regimen/regimen.hpp>

using namespace regimen;

namespace {

template <std::size_t words>
struct Gpt : Model<Input<Tokens<64>>, Embedding<Vocabulary<256>, 128>, PositionEmbedding,
                   Repeat<4, Sequential<Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,
                                        Residual<LayerNorm, Linear<512>, Gelu, Linear<128>>>>,
                   LayerNorm, Linear<words>> {};

template <class Network, class Format>
double trained(const Text& text) {
  Trainer<Network, Format, Batch<8>, Optimizer<AdamW>> trainer;
  double loss = trainer.fit(text, text, {.steps = 5}).loss;
#if defined(SAVES)
  trainer.save("state");
  trainer.load("state");
  loss += trainer.evaluate(text).loss;
#endif
  return loss;
}

}  // namespace

int main(int, char** arguments) {
  const Text text(arguments[1]);
  double sum = trained<Gpt<256>, Precision<fp32>>(text);
#if defined(MODELS)
  sum += trained<Gpt<257>, Precision<fp32>>(text);
  sum += trained<Gpt<258>, Precision<fp32>>(text);
  sum += trained<Gpt<259>, Precision<fp32>>(text);
#elif defined(PRECISIONS)
  sum += trained<Gpt<256>, Precision<bf16, fp32>>(text);
  sum += trained<Gpt<256>, Precision<fp64>>(text);
  sum += trained<Gpt<256>, Precision<tf32>>(text);
#endif
  return sum > 0;
}
// SPDX-License-Identifier: Apache-2.0
