// Sampling: windows, padding, temperature, top-k, and what is refused.
#include <regimen/trainers/generate.hpp>

#include "../temporary.hpp"

#include "../support/catch.hpp"

#include <limits>

using namespace regimen;

namespace {

/// A causal model of 4 tokens and 6 words: the logit of word (sum of the tokens up to here) mod 6 is 3, of the others
/// their id / 10.
struct Toy {
  static constexpr std::size_t input_size = 4, output_size = 24, output_rows = 4;
  std::vector<std::vector<std::int32_t>> seen{};
  float top = 3;
  std::vector<float> predict(std::span<const std::int32_t> tokens) {
    seen.emplace_back(tokens.begin(), tokens.end());
    std::vector<float> logits(24);
    std::int32_t sum = 0;
    for (std::size_t t = 0; t < 4; ++t) {
      sum += tokens[t];
      for (std::size_t v = 0; v < 6; ++v)
        logits[t * 6 + v] = static_cast<std::size_t>(sum) % 6 == v ? top : float(v) / 10;
    }
    return logits;
  }
};
static_assert(PredictsTokens<Toy>);

std::vector<std::int32_t> text(Toy& toy, std::vector<std::int32_t> prompt, std::size_t count,
                               const Sampling& sampling = {}) {
  return generate(toy, prompt, count, sampling);
}

}  // namespace

TEST_CASE("without chance the largest logit follows, and the model sees the last T tokens, zeros behind them") {
  Toy toy;
  CHECK(text(toy, {1, 2}, 4, {.temperature = 0}) == std::vector<std::int32_t>{3, 0, 0, 5});
  CHECK(toy.seen[0] == std::vector<std::int32_t>{1, 2, 0, 0});
  CHECK(toy.seen[1] == std::vector<std::int32_t>{1, 2, 3, 0});
  CHECK(toy.seen[2] == std::vector<std::int32_t>{1, 2, 3, 0});
  CHECK(toy.seen[3] == std::vector<std::int32_t>{2, 3, 0, 0});
  CHECK(text(toy, {5, 5, 5, 5, 5, 1}, 0).empty());
}

TEST_CASE("a text ends behind the token that says so") {
  Toy toy;
  CHECK(text(toy, {1, 2}, 4, {.temperature = 0, .end = 0}) == std::vector<std::int32_t>{3, 0});
  CHECK(text(toy, {1, 0}, 2, {.temperature = 0, .end = 0}) == std::vector<std::int32_t>{1, 2});
}

TEST_CASE("a prompt longer than T is cut in front") {
  Toy toy;
  text(toy, {5, 4, 3, 2, 1, 0}, 1);
  CHECK(toy.seen[0] == std::vector<std::int32_t>{3, 2, 1, 0});
}

TEST_CASE("the same seed draws the same text, another seed another one") {
  Toy toy;
  const auto first = text(toy, {0}, 60, {.temperature = 2, .seed = 7});
  CHECK(first == text(toy, {0}, 60, {.temperature = 2, .seed = 7}));
  CHECK(first != text(toy, {0}, 60, {.temperature = 2, .seed = 8}));
}

TEST_CASE("frequencies follow the softmax at a temperature") {
  const std::vector<float> logits{0.0f, 1.0f, 2.0f};
  for (const double temperature : {0.5, 1.0, 3.0}) {
    double weights[3], sum = 0;
    for (int i = 0; i < 3; ++i) sum += weights[i] = std::exp(i / temperature);
    int count[3] = {};
    constexpr int draws = 20'000;
    for (std::uint64_t i = 0; i < draws; ++i) ++count[draw_token(std::span(logits), {.temperature = temperature}, i)];
    for (int i = 0; i < 3; ++i) {
      const double p = weights[i] / sum;
      CHECK(std::abs(count[i] - draws * p) < 5 * std::sqrt(draws * p * (1 - p)) + 1);
    }
  }
}

TEST_CASE("top-k leaves the k largest, the lower id where two are equal; k of 1 is no chance") {
  const std::vector<float> logits{1, 5, 3, 5, 3, 0};
  bool drawn[6] = {};
  for (std::uint64_t i = 0; i < 2000; ++i)
    drawn[draw_token(std::span(logits), {.temperature = 5, .top_k = 3}, i)] = true;
  CHECK((!drawn[0] && drawn[1] && drawn[2] && drawn[3] && !drawn[4] && !drawn[5]));
  for (std::uint64_t i = 0; i < 50; ++i) CHECK(draw_token(std::span(logits), {.temperature = 9, .top_k = 1}, i) == 1);
  CHECK(draw_token(std::span(logits), {.temperature = 0}, 3) == 1);
}

TEST_CASE("ids at or above the vocabulary are never drawn, whatever their logits; 0 and more than there are: all") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits{1, 2, 0, 9, nan};
  bool drawn[5] = {};
  for (std::uint64_t i = 0; i < 2000; ++i)
    drawn[draw_token(std::span(logits), {.temperature = 5, .vocabulary = 3}, i)] = true;
  CHECK((drawn[0] && drawn[1] && drawn[2] && !drawn[3] && !drawn[4]));
  CHECK(draw_token(std::span(logits), {.temperature = 0, .vocabulary = 3}, 0) == 1);
  CHECK(draw_token(std::span(logits), {.temperature = 5, .top_k = 1, .vocabulary = 3}, 0) == 1);
  CHECK(draw_token(std::span(logits), {.temperature = 0, .vocabulary = 4}, 0) == 3);
  const std::vector<float> finite{1, 2, 9};
  for (const std::size_t all : {std::size_t{0}, std::size_t{3}, std::size_t{4}})
    CHECK(draw_token(std::span(finite), {.temperature = 0, .vocabulary = all}, 0) == 2);
  Toy toy;
  for (const std::int32_t id : text(toy, {5}, 50, {.temperature = 3, .vocabulary = 2})) CHECK(id < 2);
}

TEST_CASE("what cannot be sampled is refused") {
  Toy toy;
  CHECK(::test::says(::test::error_of([&] { text(toy, {}, 1); }), "a prompt of at least one token"));
  CHECK(::test::says(::test::error_of([&] { text(toy, {6}, 1); }), "tokens below 6, found 6"));
  CHECK(::test::says(::test::error_of([&] { text(toy, {-1}, 1); }), "found -1"));
  CHECK(::test::says(::test::error_of([&] { text(toy, {1}, 1, {.temperature = -1}); }), "temperature"));
  for (const std::size_t count : {std::size_t{1} << 48, std::numeric_limits<std::size_t>::max()})
    CHECK(::test::says(::test::error_of([&] { text(toy, {1}, count); }),
                       "found " + std::to_string(count) + " tokens after 1;"));
  CHECK(toy.seen.empty());  // before the first token
  toy.top = std::numeric_limits<float>::quiet_NaN();
  CHECK(::test::says(::test::error_of([&] { text(toy, {1}, 1); }), "finite logits"));
}
// SPDX-License-Identifier: Apache-2.0
