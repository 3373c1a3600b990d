// Sources of several lengths in one batch: each is read as a model of its own length reads it, with the same gradients,
// whatever is computed again, in the memory that is planned; against what transformers computes with an attention mask.
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/models/t5.hpp>
#include <regimen/models/transformer.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/trained.hpp"
#include "train/other_names.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t source = 7, target = 5;
constexpr std::int32_t pad = 10;

struct MarianSizes : OpusMt {
  static constexpr std::size_t words = 11, width = 8, heads = 2, inner = 12, encoder_depth = 1, decoder_depth = 2;
  static constexpr std::int32_t padding = pad;
};
struct WholeMarian final : MarianSizes {
  static constexpr std::int32_t padding = -1;
};
struct T5OfEleven : T5Sizes {
  static constexpr std::size_t words = 11, width = 8, heads = 2, head_width = 3, inner = 10, encoder_depth = 2,
                               decoder_depth = 2, buckets = 8, most_distance = 7;
  static constexpr std::int32_t padding = pad;
};
struct WholeT5 final : T5OfEleven {
  static constexpr std::int32_t padding = -1;
};
struct Marian final : TransformerModel<MarianSizes, source, target> {};
struct T5 final : T5Model<T5OfEleven, source, target> {};
/// The same for a source of so many tokens, none of them padding.
template <std::size_t Length>
struct ShortMarian final : TransformerModel<WholeMarian, Length, target> {};
template <std::size_t Length>
struct ShortT5 final : T5Model<WholeT5, Length, target> {};

/// Text s has lengths[s % 4] tokens, and padding behind them; no token before is padding.
constexpr std::size_t lengths[] = {4, source, 1, 6};
std::int32_t token(std::size_t s, std::size_t i) { return static_cast<std::int32_t>(Philox::mix(s, i) % 10); }
void write(auto& sample, std::size_t s) {
  for (std::size_t i = 0; i < sample.template get<0>().size(); ++i)
    sample.template get<0>()[i] = i < lengths[s % 4] ? token(s, i) : pad;
  for (std::size_t i = 0; i < target; ++i) sample.template get<1>()[i] = token(s, 20 + i);
}
struct Texts final {
  std::size_t size(const SampleShape&) const { return 22; }
  template <class In>
  void read(std::size_t index, Sample<In, std::int32_t> sample) const {
    write(sample.input[0], index);
    for (std::size_t i = 0; i < target; ++i) sample.target[i] = token(index, 40 + i);
  }
};

/// Gives both models the same weights, which are not their initial ones.
void fill(auto& model) {
  std::uint64_t index = 0;
  for (auto& parameter : model.parameters())
    for (double& value : parameter.values) value = double(static_cast<int>(Philox::mix(7, index++) % 63) - 31) / 64;
  model.parameters_changed();
}
struct Read {
  std::vector<double> logits, gradients;
};
/// Text `s` alone, in fp64.
template <class Network>
Read read(std::size_t s) {
  Trainer<Network, Batch<1>, Precision<fp64>> trainer;
  fill(trainer);
  trainer.poison_dead_memory();
  std::vector<typename decltype(trainer)::Input> text(1);
  write(text[0], s);
  std::vector<std::int32_t> labels(target);
  for (std::size_t i = 0; i < target; ++i) labels[i] = token(s, 40 + i);
  Read found;
  for (const auto logit : trainer.predict(text)) found.logits.push_back(double(logit));
  trainer.backward(trainer.forward(text, labels));
  for (const auto& gradient : trainer.gradients())
    found.gradients.insert(found.gradients.end(), gradient.values.begin(), gradient.values.end());
  return found;
}
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]));
  return std::isnan(worst) ? 1 : worst;
}
/// Padded and short texts have the same sums, but for terms that are 0.
template <class Padded, template <std::size_t> class Short>
void reads_each_length() {
  const auto are_equal = [](const Read& a, const Read& b) {
    CHECK(difference(a.logits, b.logits) < 1e-13);
    CHECK(difference(a.gradients, b.gradients) < 1e-13);
  };
  are_equal(read<Padded>(0), read<Short<4>>(0));
  are_equal(read<Padded>(1), read<Short<source>>(1));
  CHECK(difference(read<Padded>(0).logits, read<Short<source>>(0).logits) > 1e-3);  // where padding counts
}

template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return support::trained(trainer, Texts{}, 4);
}

}  // namespace

TEST_CASE("a padded source is read as by a model of its own length, with the same gradients") {
  reads_each_length<Marian, ShortMarian>();
}
TEST_CASE("so it is where distances add to scores") { reads_each_length<T5, ShortT5>(); }
TEST_CASE("padded sources train with the same bits whatever is computed again") {
  CHECK(trained<Marian, Checkpoint<Every<1>>>() == trained<Marian>());
}
TEST_CASE("a target is generated from a shorter source as by a model of that length") {
  const std::vector<std::int32_t> text{3, 1, 4, 1}, first{2};
  Trainer<Marian, Batch<2>, Precision<fp64>> padded;
  Trainer<ShortMarian<4>, Batch<2>, Precision<fp64>> short_one;
  Inference<Marian, Batch<2>, Precision<fp64>> model;
  fill(padded), fill(short_one);
  const ::test::Directory directory;
  padded.save(directory / "state");
  model.load(directory / "state");
  model.poison_dead_memory();
  const auto expected = short_one.generate(text, first, target, {.temperature = 0.9});
  CHECK(expected.size() == target);
  CHECK(padded.generate(text, first, target, {.temperature = 0.9}) == expected);
  CHECK(generate(model, text, first, target, {.temperature = 0.9}) == expected);
  model.predict(std::vector<decltype(model)::Input>(2));  // what needs most
  CHECK(model.used().peak == model.plan().peak);
  CHECK(::test::says(::test::error_of([&] { generate(model, std::vector<std::int32_t>(8), first, 1); }),
                     "expected 1 to 7 tokens"));
}
TEST_CASE("logits of padded sources are those of transformers") {
  regimen::test::reads_what_was_written<hugging_face::marian_names<Marian>, Marian, fp64>("marian", "padded", "logits",
                                                                                          regimen::test::two_texts);
  regimen::test::reads_what_was_written<hugging_face::t5_names<T5>, T5, fp32>("t5", "padded", "logits",
                                                                              regimen::test::two_texts);
}
namespace {
/// By transformers, of padded sources, and of targets that begin and end with padding.
template <class Network, const auto& map, class... Policies>
void has_gradients_of_transformers(const std::string& folder, std::size_t still) {
  const regimen::test::Recorded recorded(folder + "/gradients");
  using Train = Trainer<Network, Batch<4>, Precision<fp64>, Optimizer<Sgd>, Policies...>;
  regimen::test::has_their_gradients<map, Train>(folder, regimen::test::two_texts(recorded, typename Train::Input{}),
                                                 recorded.values<std::int32_t>("targets"), still);
}
}  // namespace
TEST_CASE("gradients of padded sources are those of transformers, the padding token's row too") {
  has_gradients_of_transformers<Marian, hugging_face::marian_names<Marian>, Freeze<AddBias>>("marian", 1);
  has_gradients_of_transformers<T5, hugging_face::t5_names<T5>>("t5", 0);
}

namespace {
struct KeptLength : NamedLength<source> {};
struct KeptText : NamedValue<Shape<source, 8>> {};
using Table = Embedding<Vocabulary<11>, 8>;
/// A source whose length is kept.   Options   of the attention to it
template <class... Options>
struct Counting final
    : Model<Input<Bundle<Tokens<source>, Tokens<target>>>,
            Fork<Last, Sequential<Part<0>, KeepLength<KeptLength, PaddedWith<pad>>, Table, Keep<KeptText>>,
                 Sequential<Part<1>, Table, CrossAttention<KeptText, Heads<2>, Options...>>>,
            Linear<11>> {};
}  // namespace
TEST_CASE("a shorter source is refused where no attention ends with it") {
  const std::vector<std::int32_t> text{3, 1, 4, 1}, first{2}, whole{3, 1, 4, 1, 5, 9, 2};
  Trainer<Counting<>, Batch<1>> counts;
  Trainer<Counting<Within<KeptLength>>, Batch<1>> ends;
  CHECK(ends.generate(text, first, 2).size() == 2);
  CHECK(counts.generate(whole, first, 2).size() == 2);
  const std::string refused = ::test::error_of([&] { counts.generate(text, first, 2); });
  CHECK(::test::says(refused, "generate, source"));
  CHECK(::test::says(refused, "expected 7 tokens"));
  CHECK(::test::says(refused, "Within<Name>"));
  const ::test::Directory directory;
  counts.save(directory / "state");
  Inference<Counting<>, Batch<1>> model(directory / "state");
  CHECK(::test::says(::test::error_of([&] { model.start(text, first); }), "expected 7 tokens"));
}
TEST_CASE("padded sources train on a device") {
  // Of weights in fp64 whose gradients are summed in another order: tests/train/translator.cpp derives it.
  CHECK(difference(trained<Marian, Precision<fp64>, Device<Emulated>>(), trained<Marian, Precision<fp64>>()) < 1e-8);
}

namespace {
struct HalvedLength : NamedLength<16> {};
/// A layer of a program's own that reads lengths, of whose keys no rule knows the number.
struct OwnAttention final {
  static constexpr const char* name = "own_attention";
  static constexpr bool couples_samples = false;
  using Attend = regimen::detail::Attend<regimen::detail::HeadLayout<2, 2, 0>, false, Ratio<0>>;
  template <class X, class Roles>
  struct Bound : regimen::detail::AttendWithin<Attend, HalvedLength>::template Bound<
                     regimen::detail::InAttention<X, X::columns / 3>, Roles> {
    using Output = Value<typename X::Element, Shape<X::rows, X::columns / 3>>;
  };
};
/// The length counts 16 positions, behind a convolution there are 8.
struct Halved final : Model<Input<Tokens<16>>, KeepLength<HalvedLength, PaddedWith<0>>, Embedding<Vocabulary<9>, 8>,
                            Conv1d<8, 2, Stride<2>>, Linear<24>, OwnAttention, Linear<9>> {};
/// The logits of a sample beside one whose tokens are all `other`.
template <class... Policies>
std::vector<double> beside(std::int32_t other) {
  Trainer<Halved, Batch<2>, Precision<fp64>, Policies...> model;
  fill(model);
  std::vector<std::int32_t> tokens(32, 3);
  std::fill(tokens.begin() + 16, tokens.end(), other);
  const auto logits = model.predict(tokens);
  return {logits.begin(), logits.begin() + std::ptrdiff_t(logits.size() / 2)};
}
}  // namespace
TEST_CASE("a length beyond the last key ends there, and reads no other sample") {
  CHECK(beside(3) == beside(7));
  CHECK(beside<Device<Emulated>>(3) == beside<Device<Emulated>>(7));
  CHECK(beside<Device<Emulated>, Attention<Tiled>>(3) == beside<Device<Emulated>, Attention<Tiled>>(7));
}
// SPDX-License-Identifier: Apache-2.0
