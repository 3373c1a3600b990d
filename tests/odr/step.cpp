// Steps of small networks in several formats: linked with regimen::compiled, the same bits as without it, under any flags.
#include <regimen/regimen.hpp>

#include <cstdio>
#include <vector>

using namespace regimen;

using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                         Residual<LayerNorm, Linear<32>, GeluTanh, Linear<16>>>;
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, PositionEmbedding, Repeat<2, Block>, LayerNorm,
                   Linear<16>> {};
struct Pictures : Model<Input<Image<8, 8, 2>>, Conv2d<32, 3, Padding<1>, NoBias>, BatchNorm<>, Relu, MaxPool<2>,
                        Residual<Conv2d<32, 3, Padding<1>>, GroupNorm<4>, Silu>, Dropout<Ratio<1, 4>>,
                        GlobalAveragePool, Linear<16>> {};
struct Sequences : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Lstm<8>, RmsNorm, Gru<8>, Linear<16>> {};

template <class Network, class... Policies>
void print_losses(const auto& inputs, std::size_t targets) {
  Trainer<Network, Policies..., Batch<4>> trainer({.schedule = Schedule::warmup_cosine(2, 7, 0.1)});
  std::vector<std::int32_t> classes(targets);
  for (std::size_t i = 0; i < targets; ++i) classes[i] = static_cast<std::int32_t>(i * 5 % 16);
  for (int step = 0; step < 5; ++step) {
    const StepResult result = trainer.step(inputs, classes);
    std::printf("%a %a %a\n", result.loss, result.gradient_norm, result.learning_rate);
  }
  double sum = 0;
  for (const auto& parameter : trainer.parameters())
    for (const auto value : parameter.values) sum += static_cast<double>(value);
  std::printf("%a\n", sum);
}

int main() {
  std::vector<std::int32_t> tokens(32);
  for (std::size_t i = 0; i < 32; ++i) tokens[i] = static_cast<std::int32_t>(i * 7 % 16);
  std::vector<float> pixels(4 * 8 * 8 * 2);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 7 % 16) / 16;
  print_losses<Gpt, Precision<bf16, fp32>>(tokens, 32);
  print_losses<Pictures, Optimizer<Sgd>>(pixels, 4);
  print_losses<Sequences, Precision<fp16, fp32>, LossScale<Dynamic>, Optimizer<RmsProp>>(tokens, 32);
  print_losses<Sequences, Precision<fp64>, Optimizer<Adam>>(tokens, 32);
}
