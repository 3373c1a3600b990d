// Losses, and hashes of weights, samples and searched values: linked with regimen::compiled, the same bits as without
// it, under any flags.
#include <regimen/data/augment.hpp>
#include <regimen/data/mix.hpp>
#include <regimen/engine/hash.hpp>
#include <regimen/regimen.hpp>
#include <regimen/tune/plan.hpp>
#include <regimen/watch/metrics.hpp>

#include <cstdio>
#include <utility>
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

/// Collects the bytes of numbers, and prints their hash.
class Hash final {
 public:
  explicit Hash(const char* of) : of_(of) {}
  ~Hash() {
    const auto loop = [](std::size_t count, const auto& body) {
      for (std::size_t i = 0; i < count; ++i) body(i);
    };
    std::printf("%s %llx\n", of_, static_cast<unsigned long long>(engines::hash_of_bytes(bytes_, loop)));
  }
  void add(const auto& numbers) {
    const auto bytes = std::as_bytes(std::span(numbers));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

 private:
  const char* of_;
  std::vector<std::byte> bytes_;
};

void print_weights(auto& trainer) {
  Hash hash("weights");
  for (const auto& parameter : trainer.parameters()) hash.add(parameter.values);
}
std::vector<std::int32_t> classes(std::size_t count) {
  std::vector<std::int32_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::int32_t>(i * 5 % 16);
  return all;
}

template <class Network, class... Policies>
void print_losses(const auto& inputs, std::size_t targets) {
  Trainer<Network, Policies..., Batch<4>> trainer({.schedule = Schedule::warmup_cosine(2, 7, 0.1)});
  for (int step = 0; step < 5; ++step) {
    const StepResult result = trainer.step(inputs, classes(targets));
    std::printf("%a %a %a\n", result.loss, result.gradient_norm, result.learning_rate);
  }
  print_weights(trainer);
}

void print_fit(const std::vector<float>& pixels) {
  Trainer<Pictures, Batch<3>> trainer({.schedule = Schedule::warmup_linear(2, 5)});
  const Rows<float, std::int32_t> source(pixels, classes(4), 8 * 8 * 2);
  const Fitted fitted = trainer.fit(source, source, {.epochs = 3, .progress = false});
  Perplexity perplexity;
  const Evaluation found = trainer.evaluate(source, perplexity);
  std::printf("%a %a %a %a\n", fitted.loss, fitted.validation_loss, found.loss, perplexity.value());
  print_weights(trainer);
}

struct Noise final {
  std::size_t size() const { return 14; }
  data::LabelledImage at(const data::Key& key) const {
    data::Image image(24, 20, 3);
    for (std::size_t i = 0; i < image.pixels().size(); ++i)
      image.pixels()[i] = static_cast<std::uint8_t>(Philox::draw(key.index, i / 9, 0).word[0]);
    return {std::move(image), static_cast<std::int32_t>(key.index % 3)};
  }
  std::string name() const { return "noise"; }
};
data::LabelledImage changed(data::LabelledImage value, const data::Key& key) {
  value.image = data::RandomResizedCrop{.height = 18, .width = 17, .filter = data::Filter::Bicubic}(value.image, key);
  value.image = data::ColorJitter{0.4, 0.4, 0.4, 0.1}(std::move(value.image), key);
  for (const std::size_t operation : {key.index, key.index + 5})
    value.image = data::RandAugment{}.apply(std::move(value.image),
                                            data::RandAugment::Operation(operation % data::RandAugment::operations),
                                            key.epoch == 1);
  value.image = data::resize(data::rotate(value.image, 11), 16, 15);
  return value;
}
void print_samples() {
  const auto images = Noise{} | data::map(changed);
  const auto blended = images | data::mixed(data::Mixup{.classes = 3});
  const auto pasted = images | data::mixed(data::CutMix{.classes = 3});
  Hash hash("samples");
  std::vector<float> input(16 * 15 * 3);
  std::vector<double> wide(input.size());
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
    for (std::size_t i = 0; i < images.size(); ++i)
      for (const data::MixedImage& mixed : {blended.at({i, epoch, 1}), pasted.at({i, epoch, 1})}) {
        data::Normalise{}(mixed.image, std::span(input));
        data::Normalise{}(mixed.image, std::span(wide));
        hash.add(input), hash.add(wide), hash.add(mixed.target);
      }
}

void print_search() {
  Hash hash("search");
  const std::vector<tune::Axis> axes{tune::uniform("beta2", 0.9, 0.999), tune::log_uniform("rate", 1e-4, 1e-1)};
  for (const tune::Candidate& candidate : tune::candidates(tune::Random{.trials = 9}, axes)) hash.add(candidate.values);
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
  print_fit(pixels);
  print_samples();
  print_search();
}
