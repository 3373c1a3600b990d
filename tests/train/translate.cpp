// A target generated from a source: position by position, behind an encoder that is walked once, what whole passes over
// both texts give, in the memory that is planned; and what is refused.
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/models/t5.hpp>
#include <regimen/models/transformer.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "../temporary.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t source = 7, target = 6, words = 11;

struct MarianSizes : OpusMt {
  static constexpr std::size_t words = 11, width = 8, heads = 2, inner = 12, encoder_depth = 2, decoder_depth = 3;
  static constexpr std::int32_t padding = -1;
};
struct Marian final : TransformerModel<MarianSizes, source, target> {};
struct SmallT5 : T5Sizes {
  static constexpr std::size_t words = 11, width = 8, heads = 2, head_width = 3, inner = 10, encoder_depth = 2,
                               decoder_depth = 2, buckets = 8, most_distance = 7;
};
struct T5 final : T5Model<SmallT5, source, target> {};

/// A recurrent encoder whose text is kept in another type than the decoder reads it in; heads that share keys, which are
/// normalised; a recurrent decoder.
struct Heard : NamedValue<Shape<source, 8>> {};
using Table = Embedding<Vocabulary<words>, 8>;
template <class T>
using Across = As<T, Residual<RmsNorm, CrossAttention<Heard, Heads<4>, KeyHeads<2>, HeadWidth<3>, Dropout<Ratio<1, 9>>,
                                                      QueryKeyNorm<Epsilon<Ratio<1, 10>>>, WithoutBias>>>;
template <class T, class Decoded>
struct Mixed final
    : Model<Input<Bundle<Tokens<source>, Tokens<target>>>,
            Fork<Last, Sequential<Part<0>, Table, Lstm<8>, SelfAttention<Heads<2>>, Keep<Heard>>,
                 Sequential<Part<1>, Table, Decoded, Repeat<2, Across<T>>, Residual<SelfAttention<Heads<2>, Causal>>>>,
            Across<T>, Linear<words>> {};

// Whose decoder copies what was kept; looks ahead; has the positions of the encoder.
struct Positions;
template <class... Decoder>
struct Other final : Model<Input<Bundle<Tokens<source>, Tokens<source>>>,
                           Fork<Last, Sequential<Part<0>, Table, Shared<Positions, PositionEmbedding>, Keep<Heard>>,
                                Sequential<Part<1>, Table, Decoder..., CrossAttention<Heard, Heads<2>>>>,
                           Linear<words>> {};
using Reading = Other<Fork<Add, Identity, Read<Heard>>>;
using Looking = Other<SelfAttention<Heads<2>>>;
using Sharing = Other<Shared<Positions, PositionEmbedding>>;
template <class Network>
constexpr bool decodes = Inference<Network, Batch<2>>::decodes;
static_assert(decodes<Marian> && decodes<Other<>> && !decodes<Reading> && !decodes<Looking> && !decodes<Sharing>);

// The keys and values of 3 decoder blocks: of the target's positions, two tensors, and of the source's, one.
static_assert(Inference<Marian, Batch<2>>::plan().bytes(MemoryKind::cache) ==
              3 * (2 * TensorArena::align(target * 8 * 4) + TensorArena::align(source * 2 * 8 * 4)));

/// Multiples of 1/64 below 1/2.
void fill(auto& model) {
  std::uint64_t index = 0;
  for (const HeldParameter& parameter : model.parameters())
    parameter.visit([&]<class T>(std::span<T> values) {
      for (T& value : values)
        value = T(static_cast<float>(static_cast<int>(Philox::mix(7, index++) % 63) - 31) / 64.0f);
    });
  model.parameters_changed();
}
template <class Sample>
std::vector<Sample> texts_of(std::uint64_t key) {
  std::vector<Sample> texts(1);
  for (std::int32_t& token : texts[0].template get<0>())
    token = static_cast<std::int32_t>(Philox::mix(key, 1) % words), ++key;
  for (std::int32_t& token : texts[0].template get<1>())
    token = static_cast<std::int32_t>(Philox::mix(key, 2) % words), ++key;
  return texts;
}

/// The same model without what it keeps.
template <class Model>
struct Whole {
  using Input = typename Model::Input;
  static constexpr std::size_t output_size = Model::output_size, output_rows = Model::output_rows;
  Model& model;
  auto predict(std::span<const Input> texts) { return model.predict(texts); }
};

/// The largest difference between logits of whole passes and those of positions, over the largest logit.
template <class Model>
double difference() {
  using Sample = typename Model::Input;
  Model model;
  fill(model);
  model.poison_dead_memory();
  double largest = 0, size = 1;
  for (const std::uint64_t key : {1u, 20u, 30u}) {
    const std::vector<Sample> texts = texts_of<Sample>(key), others = texts_of<Sample>(key + 100);
    const std::span<const std::int32_t> from(texts[0].template get<0>()), to(texts[0].template get<1>());
    const auto whole = model.predict(texts);
    for (const std::size_t beginning : {std::size_t{1}, std::size_t{3}, to.size()}) {
      auto logits = model.start(from, to.first(beginning));
      for (std::size_t t = beginning - 1;; logits = model.next(to[t])) {
        for (std::size_t v = 0; v < words; ++v) {
          const double truth = double(whole[t * words + v]), apart = std::fabs(double(logits[v]) - truth);
          size = std::max(size, std::fabs(truth));
          if (!(apart <= largest)) largest = apart;
        }
        if (++t == to.size()) break;
        model.predict(others);  // changes nothing of the text that is being read
      }
      CHECK(::test::says(::test::error_of([&] { model.next(1); }), "a full window"));
    }
  }
  CHECK(model.used().peak == Model::plan().peak);

  // The encoder is walked once: a position costs as many operations as the one before, fewer than the first.
  const auto cost_of = [&](auto&& f) {
    const std::size_t before = model.used().operations;
    f();
    return model.used().operations - before;
  };
  const std::vector<Sample> texts = texts_of<Sample>(3);
  const std::vector<std::int32_t> from(texts[0].template get<0>().begin(), texts[0].template get<0>().end()), first{4};
  const std::size_t begin = cost_of([&] { model.start(from, first); }), next = cost_of([&] { model.next(1); });
  CHECK(next < begin);
  CHECK(cost_of([&] { model.next(2); }) == next);

  // Both ways give the same text; it ends where it is told to.
  Whole<Model> whole{model};
  for (const double temperature : {0.0, 0.8}) {
    const auto text = generate(model, from, first, target, {.temperature = temperature});
    CHECK(text.size() == target);
    CHECK(text == generate(whole, from, first, target, {.temperature = temperature}));
    const auto end = std::find(text.begin(), text.end(), text[2]);
    const auto ended = generate(model, from, first, target, {.temperature = temperature, .end = text[2]});
    CHECK(ended == std::vector<std::int32_t>(text.begin(), end + 1));
  }
  return largest / size;
}

/// Both ways add the same terms in other orders. A logit is behind fewer than 2^6 layers of sums of at most 2^6 terms, whose
/// roundings of 2^-53 grow by the norms between them, which divide by deviations of 2^-4 and more: 2^16 of them.
constexpr double tolerance = 0x1p16 * 0x1p-53;

}  // namespace

TEMPLATE_TEST_CASE("a target read position by position is what a pass over both texts makes of it", "", Marian, T5,
                   (Mixed<fp64, PositionEmbedding>), (Mixed<fp64, Lstm<8>>)) {
  CHECK(difference<Inference<TestType, Batch<2>, Precision<fp64>>>() <= tolerance);
}
TEST_CASE("also where the decoder reads a text in another type than it is kept in") {
  // bf16 rounds q, k, v and what they make by 2^-9 alike in both ways, unless sums in fp32 fall on two sides of a tie.
  const double off = difference<Inference<Mixed<bf16, Gru<8>>, Batch<2>>>();
  CHECK(off < 0x1p-6);
}
TEST_CASE("a target without caches, and what is refused") {
  Trainer<Marian, Batch<2>> trainer;
  Inference<Sharing, Batch<1>> sharing;
  const std::vector<std::int32_t> from(source, 3), first{4};
  CHECK(::test::says(::test::error_of([&] { Inference<Marian, Batch<1>>().start(from, first); }), "expected weights"));
  fill(sharing);
  CHECK(generate(sharing, from, first, 4).size() == 4);
  CHECK(trainer.generate(from, first, target).size() == target);
  Inference<Marian, Batch<1>> model;
  fill(model);
  const auto refused = [&](std::vector<std::int32_t> read, std::vector<std::int32_t> begin, std::size_t count) {
    return ::test::error_of([&] { generate(model, read, begin, count); });
  };
  CHECK(::test::says(refused({1, 2}, {4}, 1), "expected 7 tokens, as the model reads, found 2"));
  CHECK(::test::says(refused(from, {}, 1), "a prompt of at least one token"));
  CHECK(::test::says(refused(from, {11}, 1), "tokens below 11, found 11"));
  CHECK(::test::says(refused(std::vector<std::int32_t>(source, 11), {1}, 1), "token of sample 0, position 0"));
  CHECK(::test::says(refused(from, {1, 2}, 6), "the model's 6 positions, found 6 tokens after 2"));
  CHECK(::test::says(::test::error_of([&] { model.next(1); }), "a text that start has read"));
  CHECK(::test::says(::test::error_of([&] { model.start(first, first); }), "expected 7 tokens"));
  CHECK(::test::says(::test::error_of([&] { model.start(from, std::vector<std::int32_t>(7)); }), "found 7"));
}
// SPDX-License-Identifier: Apache-2.0
