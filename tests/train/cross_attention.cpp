// Attention to another text: an encoder and a decoder in one model; its gradients are those of calculus and its bits the
// same however it is computed; against what PyTorch computed.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"
#include "train/recorded.hpp"

#include <cstdint>
#include <vector>

using namespace regimen;
using regimen::test::check_layer;

namespace {

/// A Transformer of a text of 7 tokens and what follows it, 4 tokens: both are one input.
constexpr std::size_t source = 7, target = 4, words = 9, width = 8;
struct Encoded : NamedValue<Shape<source, width>> {};
using Mlp = Residual<LayerNorm, Linear<16>, Gelu, Linear<width>>;
using EncoderBlock = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>>>, Mlp>;
template <class... Options>
using DecoderBlock = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal, SlidingWindow<3>>>,
                                Residual<LayerNorm, CrossAttention<Encoded, Heads<2>, Options...>>, Mlp>;
using Encoder = Sequential<Slice<0, source>, Embedding<Vocabulary<words>, width>, PositionEmbedding,
                           Repeat<2, EncoderBlock>, LayerNorm, Keep<Encoded>>;
using Target = Sequential<Slice<source, target>, Embedding<Vocabulary<words>, width>, SinusoidalPositions>;
template <class... Options>
struct Transformer final
    : Model<Input<Tokens<source + target>>, Fork<ConcatAlong<0>, Encoder, Target>, SliceAlong<0, source, target>,
            Repeat<2, DecoderBlock<Options...>>, LayerNorm, Linear<words>> {};
using OneKeyHead =
    Transformer<KeyHeads<1>, HeadWidth<3>, WithoutBias, Dropout<Ratio<1, 4>>, QueryKeyNorm<Epsilon<Ratio<1, 10>>>>;

/// Attention in T to a text that is kept in fp32.
struct Narrow : NamedValue<Shape<3, 6>> {};
template <class T>
struct Mixed final : Model<Input<Series<3, 5>>, Linear<6>, Keep<Narrow>, SliceAlong<0, 0, 2>,
                           As<T, CrossAttention<Narrow, Heads<2>, QueryKeyNorm<>>>, Linear<4>> {};

/// Positions 7 to 9 attend to the first five channels of positions 0 to 6.
struct Shorter : NamedValue<Shape<7, 5>> {};
using Normalised =
    Sequential<Fork<ConcatAlong<0>,
                    Sequential<SliceAlong<0, 0, 7>, Fork<Concat, Sequential<Slice<0, 5>, Keep<Shorter>>, Slice<5, 3>>>,
                    SliceAlong<0, 7, 3>>,
               SliceAlong<0, 7, 3>,
               CrossAttention<Shorter, Heads<4>, HeadWidth<4>, QueryKeyNorm<>, WithoutScale, WithoutBias>>;

/// Positions 7 to 10 attend to the first ten channels of positions 0 to 6.
struct Recording : NamedValue<Shape<7, 10>> {};
using Asking = Sequential<
    Fork<ConcatAlong<0>,
         Sequential<SliceAlong<0, 0, 7>, Fork<Concat, Sequential<Slice<0, 10>, Keep<Recording>>, Slice<10, 2>>>,
         SliceAlong<0, 7, 4>>,
    SliceAlong<0, 7, 4>, CrossAttention<Recording, Heads<3>>>;

static_assert(!Inference<Transformer<>, Batch<2>>::decodes);

/// A text of one word, which is also what follows; the decoder reads zeros.
struct Heard final {
  std::size_t size(const SampleShape&) const { return 90; }
  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    const auto word = static_cast<std::int32_t>(index % words);
    for (std::size_t i = 0; i < sample.input.size(); ++i) sample.input[i] = i < source ? word : 0;
    for (std::int32_t& label : sample.target) label = word;
  }
};

std::vector<double> numbers(auto& trainer) {
  static const Fake fake({.samples = 24, .classes = words, .seed = 4});
  return support::trained(trainer, fake, 4);
}
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}

template <class Network, class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Network, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

/// The gradient of the layer that makes the text, and of the text's product, where T computes attention.
template <class T>
std::vector<double> gradients_in() {
  Trainer<Mixed<T>, Batch<3>, Loss<MeanSquaredError>> trainer;
  trainer.poison_dead_memory();
  std::vector<float> x(3 * 15), labels(3 * 8);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i % 7) / 4 - 0.75f;
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = float(i % 5) / 4;
  trainer.backward(trainer.forward(x, labels));
  std::vector<double> all;
  for (const auto& gradient : trainer.gradients())
    if (gradient.name == "0.weight" || gradient.name == "3.0.kv.weight")
      all.insert(all.end(), gradient.values.begin(), gradient.values.end());
  REQUIRE(all.size() == 30 + 72);
  return all;
}

}  // namespace

TEMPLATE_TEST_CASE("an encoder and a decoder have the gradients of calculus", "", Transformer<>, OneKeyHead) {
  CHECK(gradient_check<TestType, Batch<2>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
}
TEMPLATE_TEST_CASE("they have the same bits in the planned memory when they are computed again", "", Transformer<>,
                   OneKeyHead) {
  const std::vector<double> plain = trained<TestType>();
  CHECK(trained<TestType, Checkpoint<Every<1>>>() == plain);
  CHECK(trained<TestType, Checkpoint<Selective<Keep<Encoded>, LayerNorm, Gelu>>>() == plain);
}
TEST_CASE("they learn what a text says, of which the decoder has not a word") {
  Trainer<Transformer<>, Batch<4>> trainer{{.optimizer = {.learning_rate = 1e-2}}};
  CHECK(trainer.fit(Heard{}, {.steps = 200, .progress = false}).loss < 0.5);  // ln 9 = 2.2 without the text
}
TEST_CASE("also on two ranks, however their weights are cut") {
  const std::vector<double> whole = on_two<OneKeyHead>();
  CHECK(on_two<OneKeyHead, Shard<ZeRO1>>() == whole);
  CHECK(on_two<OneKeyHead, Shard<ZeRO2>>() == whole);
  CHECK(on_two<OneKeyHead, Shard<ZeRO3>>() == whole);
  CHECK(on_two<OneKeyHead, Shard<Hybrid<2>>, Checkpoint<Every<2>>>() == whole);
}
TEST_CASE("a text is read in another type than it is kept in") {
  const std::vector<double> wide = gradients_in<fp32>(), narrow = gradients_in<bf16>();
  double off = 0, all = 0;
  for (std::size_t i = 0; i < wide.size(); ++i) off += std::abs(wide[i] - narrow[i]), all += std::abs(wide[i]);
  CHECK(off > 0);
  CHECK(off < 0.05 * all);  // some ten roundings by 2^-9
  CHECK(trained<Mixed<bf16>, Loss<MeanSquaredError>, Checkpoint<Selective<Keep<Narrow>, SliceAlong<0, 0, 2>>>>() ==
        trained<Mixed<bf16>, Loss<MeanSquaredError>>());
}
TEST_CASE("attention to another text agrees with PyTorch") {
  check_layer<Asking, 2, 11, 12>(
      "cross_attention", {"q.weight", "q.bias", "kv.weight", "kv.bias", "projection.weight", "projection.bias"});
  check_layer<Normalised, 2, 10, 8>("cross_attention_normalised",
                                    {"q.weight", "norm.query", "kv.weight", "kv.norm", "projection.weight"});
}
