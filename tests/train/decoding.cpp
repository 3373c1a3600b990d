// Text read position by position: the same logits as from whole windows, the memory that is planned, and what happens
// beyond the window.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/tiny.hpp"

#include <regimen/trainers/inference.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t window = 40, words = 11;

using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal, Dropout<Ratio<1, 8>>>>,
                         Residual<LayerNorm, Linear<32>, GeluTanh, Linear<8>>>;
struct Gpt : Model<Input<Tokens<window>>, Embedding<Vocabulary<words>, 8>, PositionEmbedding, Dropout<Ratio<1, 8>>,
                   Repeat<5, Block>, LayerNorm, Linear<words>> {};

// Positions by sines; norms behind the sums, a Repeat in a Repeat, a Residual around a Repeat, layers of another type, a
// tied table, attention written at the top.
using Table = Embedding<Vocabulary<words>, 8>;
using PostNorm =
    Sequential<Residual<SelfAttention<Heads<1>, Causal>>, LayerNorm, Residual<Linear<12>, Silu, Linear<8>>, RmsNorm>;
template <class T>
struct Odd : Model<Input<Tokens<window>>, Table, SinusoidalPositions, Repeat<2, Repeat<3, PostNorm>>,
                   SelfAttention<Heads<4>, Causal>, Residual<Repeat<3, Sequential<Linear<8>, Gelu>>, Linear<8>>,
                   As<T, LayerNorm, Relu>, LayerNorm, TiedLinear<Table>> {};

// Positions by rotation alone, in heads that see seven positions, share keys and are wider than their part of the channels.
using Shared = SelfAttention<Heads<4>, KeyHeads<2>, HeadWidth<6>, Causal, SlidingWindow<7>,
                             QueryKeyNorm<Epsilon<Ratio<1, 100>>>, Rotary<Ratio<100>>, WithoutBias>;
// One set of weights for all iterations.
struct OneSet;
struct Turned : Model<Input<Tokens<window>>, Embedding<Vocabulary<words>, 8>,
                      Repeat<3, regimen::Shared<OneSet, Residual<RmsNorm, Shared>>>, RmsNorm, Linear<words>> {};

/// y = 2 x, which says that it couples no positions, or does not say.
template <bool says>
struct Declaration {};
template <>
struct Declaration<true> {
  static constexpr bool couples_positions = false;
};
template <bool says>
struct Twice final : Declaration<says> {
  static constexpr const char* name = "twice";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = X;
    static constexpr void run(auto& walk, std::size_t from, std::size_t to) {
      walk.run(op::Copy<T>{{from}, {to}, walk.batch * X::size});
      walk.run(op::Add<T>{{from}, {to}, walk.batch * X::size});
    }
    static constexpr void forward(auto& walk, const auto& call) { run(walk, call.x, call.y); }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) run(walk, call.d_y, call.d_x);
    }
  };
};
template <class... Layers>
using Words = Model<Input<Tokens<window>>, Embedding<Vocabulary<words>, 8>, Layers..., SelfAttention<Heads<2>, Causal>,
                    Linear<words>>;
struct Declared : Words<Twice<true>> {};
struct Undeclared : Words<Twice<false>> {};
struct Looking : Model<Input<Tokens<window>>, Embedding<Vocabulary<words>, 8>, SelfAttention<Heads<2>>, Linear<words>> {
};
struct Numbers : Model<Input<Vector<8>>, Linear<4>, Relu, Linear<3>> {};
struct OneToken
    : Model<Input<Tokens<1>>, Embedding<Vocabulary<words>, 8>, SelfAttention<Heads<2>, Causal>, Linear<words>> {};

template <class Network, class... More>
constexpr bool decodes = Inference<Network, Batch<2>, More...>::decodes;
static_assert(decodes<Gpt> && decodes<Odd<fp32>> && decodes<Turned> && decodes<Declared> && decodes<OneToken> &&
              decodes<Gpt, Fusion<Unfused>> && decodes<tiny::Gpt>);
static_assert(!decodes<Undeclared> && !decodes<Looking> && !decodes<Numbers>);

// Keys and values of one text, of every attention there is: 5 in Gpt; 6 and 1 in Odd.
constexpr std::size_t cache(std::size_t attentions, std::size_t element) {
  return attentions * 2 * TensorArena::align(window * 8 * element);
}
static_assert(Inference<Gpt, Batch<2>>::plan().bytes(MemoryKind::cache) == cache(5, 4));
static_assert(Inference<Gpt, Batch<7>, Precision<bf16>>::plan().bytes(MemoryKind::cache) == cache(5, 2));
static_assert(Inference<Odd<fp64>, Batch<2>, Precision<fp64>>::plan().bytes(MemoryKind::cache) == cache(7, 8));
static_assert(Inference<Turned, Batch<2>>::plan().bytes(MemoryKind::cache) ==
              3 * 2 * TensorArena::align(window * 2 * 6 * 4));
static_assert(Inference<Undeclared, Batch<2>>::plan().bytes(MemoryKind::cache) == 0 &&
              Trainer<Gpt, Batch<2>>::plan().bytes(MemoryKind::cache) == 0);

/// Multiples of 1/64 below 1/2, which every format holds, so that models of several formats have the same weights.
template <class Model>
void fill(Model& model) {
  std::uint64_t index = 0;
  for (const HeldParameter& parameter : model.parameters())
    parameter.visit([&]<class T>(std::span<T> values) {
      for (T& value : values)
        value = T(static_cast<float>(static_cast<int>(Philox::mix(7, index++) % 63) - 31) / 64.0f);
    });
  model.parameters_changed();
}
std::vector<std::int32_t> text_of(std::size_t length, std::uint64_t key = 3) {
  std::vector<std::int32_t> text(length);
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<std::int32_t>(Philox::mix(key, i) % words);
  return text;
}

/// What a model says at every position of a window: by whole windows, and read position by position after a beginning
/// of some length.
template <class Model>
std::vector<double> by_windows(Model& model, const std::vector<std::int32_t>& text) {
  const auto logits = model.predict(text);
  return {logits.begin(), logits.end()};
}
template <class Model>
std::vector<double> by_positions(Model& model, const std::vector<std::int32_t>& text, std::size_t beginning) {
  std::vector<double> all;
  for (std::size_t t = beginning - 1; t < window; ++t) {
    const auto logits = t + 1 == beginning ? model.start(std::span(text).first(beginning)) : model.next(text[t]);
    REQUIRE(logits.size() == words);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}
/// The largest difference to the last numbers of `all`.
double difference(const std::vector<double>& all, const std::vector<double>& last) {
  double largest = 0;
  for (std::size_t i = 0; i < last.size(); ++i) {
    const double here = std::fabs(all[all.size() - last.size() + i] - last[i]);
    if (!(here <= largest)) largest = here;
    if (std::isnan(largest)) return largest;
  }
  return largest;
}

constexpr std::size_t beginnings[] = {1, 2, 3, 17, window};  // a token each; from the third on a pass over the window

template <class Exact, class Network, class... More>
void says_the_same() {
  const std::vector<std::int32_t> text = text_of(window);
  Inference<Exact, Batch<2>, Precision<fp64>, More...> exact;
  fill(exact);
  exact.poison_dead_memory();
  const std::vector<double> truth = by_windows(exact, text);
  double size = 1;
  for (const double logit : truth) size = std::max(size, std::fabs(logit));
  // Both ways add the same terms in other orders. A logit is behind fewer than 2^6 layers of sums of at most 2^6 terms,
  // whose roundings of 2^-53 grow by the norms between them, which divide by deviations of 2^-4 and more: 2^16 of them.
  for (const std::size_t beginning : beginnings)
    CHECK(difference(truth, by_positions(exact, text, beginning)) <= 0x1p16 * 0x1p-53 * size);
  CHECK(exact.used().peak == exact.plan().peak);

  // In other formats each way is off from the truth by roundings of the same sums: as far as the other, up to the luck
  // of their signs.
  const auto in = [&](auto model) {
    fill(model);
    model.poison_dead_memory();
    const std::vector<double> whole = by_windows(model, text);
    const double error = difference(truth, whole);
    CHECK(error > 0);
    CHECK(error < 0.25 * size);
    for (const std::size_t beginning : beginnings) {
      CHECK(difference(truth, by_positions(model, text, beginning)) <= 4 * error);
      if (beginning > 2) {  // a beginning that is read as a window is computed as predict computes it
        const auto first = model.start(std::span(text).first(beginning));
        CHECK(std::equal(first.begin(), first.end(),
                         whole.begin() + static_cast<std::ptrdiff_t>((beginning - 1) * words)));
      }
    }
    CHECK(model.used().peak == model.plan().peak);
  };
  in(Inference<Network, Batch<2>, More...>());
  in(Inference<Network, Batch<2>, Precision<bf16>, More...>());
}

/// The same model without what it keeps.
template <class Model>
struct Windows {
  static constexpr std::size_t input_size = Model::input_size, output_size = Model::output_size,
                               output_rows = Model::output_rows;
  Model& model;
  auto predict(std::span<const std::int32_t> tokens) { return model.predict(tokens); }
};

}  // namespace

TEST_CASE("a text read position by position is what a whole window makes of it") { says_the_same<Gpt, Gpt>(); }
TEST_CASE("also in odd trees, without positions, with a tied table") { says_the_same<Odd<fp64>, Odd<fp32>>(); }
TEST_CASE("also with rotary positions, in heads that share keys") { says_the_same<Turned, Turned>(); }
TEST_CASE("also without fused forms") { says_the_same<Gpt, Gpt, Fusion<Unfused>>(); }
TEST_CASE("also through a layer of a user that says that it couples no positions") {
  says_the_same<Declared, Declared>();
}

TEMPLATE_TEST_CASE(
    "greedy tokens are those of whole windows where the two largest logits are apart, and beyond the window all are",
    "", Gpt, Turned) {
  Inference<TestType, Batch<1>> model;
  fill(model);
  model.poison_dead_memory();
  const std::vector<std::int32_t> full = text_of(window);
  const double tolerance = 2 * difference(by_windows(model, full), by_positions(model, full, 1)) + 1e-5;
  Windows<Inference<TestType, Batch<1>>> windows{model};
  std::size_t compared = 0;
  for (const std::size_t beginning : std::initializer_list<std::size_t>{1, 5, 39, 40, 55})
    for (std::uint64_t key = 0; key < 2; ++key) {
      const std::vector<std::int32_t> prompt = text_of(beginning, key);
      const std::vector<std::int32_t> kept = generate(model, prompt, 60, {.temperature = 0}),
                                      whole = generate(windows, prompt, 60, {.temperature = 0});
      REQUIRE(kept.size() == 60);
      std::vector<std::int32_t> text = prompt;
      for (std::size_t i = 0; i < 60; ++i) {
        if (kept[i] != whole[i]) {  // what follows has another beginning; here the two largest must have been close
          REQUIRE(text.size() <= window);
          const std::size_t seen = text.size();
          text.resize(window);
          std::vector<float> logits = model.predict(text);
          std::vector<float> last(logits.begin() + static_cast<std::ptrdiff_t>((seen - 1) * words),
                                  logits.begin() + static_cast<std::ptrdiff_t>(seen * words));
          std::nth_element(last.begin(), last.begin() + 1, last.end(), std::greater<>());
          CHECK(last[0] - last[1] <= tolerance);
          break;
        }
        ++compared;
        text.push_back(kept[i]);
      }
    }
  CHECK(compared >= 10 * 60 / 2);  // logits are apart by a thousand times the tolerance and more, nearly always
  CHECK(tolerance < 1e-3);
}

TEST_CASE("a model that cannot walk on is read by whole windows, and a Trainer reads no other way") {
  Inference<Undeclared, Batch<1>> model;
  fill(model);
  Inference<Declared, Batch<1>> kept;
  fill(kept);
  const std::vector<std::int32_t> prompt = text_of(4);
  CHECK(generate(model, prompt, 50, {.temperature = 0.7}).size() == 50);
  CHECK(generate(kept, prompt, 50, {.temperature = 0}) == generate(model, prompt, 50, {.temperature = 0}));
  Trainer<Declared, Batch<1>> trainer;
  CHECK(trainer.generate(prompt, 3).size() == 3);
}

TEST_CASE("what is kept ends with the window, with new weights, and at a token that is none") {
  Inference<Gpt, Batch<2>> model;
  const std::vector<std::int32_t> text = text_of(window + 1);
  CHECK(::test::says(::test::error_of([&] { model.start(text_of(2)); }), "Inference::start: expected weights"));
  fill(model);
  CHECK(::test::says(::test::error_of([&] { model.next(1); }), "a text that start has read"));
  CHECK(::test::says(::test::error_of([&] { model.start(std::vector<std::int32_t>{}); }),
                     "1 to 40 tokens, the model's window, found 0"));
  CHECK(::test::says(::test::error_of([&] { model.start(text); }), "1 to 40 tokens, the model's window, found 41"));
  CHECK(::test::says(::test::error_of([&] { model.start(std::vector<std::int32_t>{1, 11}); }),
                     "token of sample 0, position 1"));
  model.start(std::span(text).first(window - 1));
  const auto expected = model.next(text[window - 1]);
  CHECK(::test::says(::test::error_of([&] { model.next(1); }), "fewer than 40 tokens before"));

  // Predictions and refused tokens in between change nothing.
  model.start(std::span(text).first(window - 1));
  CHECK(::test::says(::test::error_of([&] { model.next(-1); }), "found -1"));
  model.predict(text_of(3 * window, 9));
  CHECK(model.next(text[window - 1]) == expected);
  model.start(std::span(text).first(5));
  fill(model);
  CHECK(::test::says(::test::error_of([&] { model.next(1); }), "new weights"));

  Inference<OneToken, Batch<2>> shortest;
  fill(shortest);
  const auto alone = shortest.start(std::vector<std::int32_t>{4});
  const auto predicted = shortest.predict(std::vector<std::int32_t>{4});
  CHECK(alone == predicted);
  CHECK(generate(shortest, std::vector<std::int32_t>{4}, 5, {.temperature = 0}).size() == 5);
  CHECK(shortest.used().peak == shortest.plan().peak);
}

TEST_CASE("the constant plan of a model that walks on is the plan at run time and the full plan") {
  using Model = Inference<Odd<fp32>, Batch<2>>;
  CHECK(Model::plan(2).peak == Model::plan().peak);
  CHECK(Model::Recipe::make_plan(2, true).peak == Model::plan().peak);
  std::size_t sum = 0;
  for (const std::size_t bytes : Model::plan().kinds) sum += bytes;
  CHECK(sum == Model::plan().peak);
}
// SPDX-License-Identifier: Apache-2.0
