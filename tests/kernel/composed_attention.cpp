// tests/kernel/composed_attention.cpp — softmax between products, and its gradient, beside their definition in fp64.
#include "against_cpu.hpp"

#include <regimen/kernel/composed_attention.hpp>

#include <cmath>
#include <limits>
#include <string>

using namespace regimen;
using namespace test;

namespace {

constexpr op::Random random_numbers{7, 3, 100};
constexpr std::uint64_t stream = 5;

/// Heads 1 and 3 of four, two of each sample; `past`: elements from a multiple of 16 bytes to the first row.
struct Case {
  std::size_t length;
  bool causal;
  std::uint32_t threshold;
  std::size_t past = 0, heads = 2;

  std::size_t rows() const { return heads * length; }
  std::size_t count() const { return rows() * length; }
  std::size_t room() const { return count() * 32 + 4 * length * 8 + 4096; }
  op::AttentionShape shape() const { return {2, length, 2, 9, causal}; }
  kernel::HeadRun run() const { return {1, 2, heads}; }
  template <class Operation>
  void describe(Operation& o, Arena& arena) const {
    o.shape = shape(), o.run = run(), o.drop = arena.drop(threshold, stream, random_numbers);
  }
};

template <class T>
auto forward(const Case& c, const Values& scores, bool in_place) {
  return [=](Arena& arena) {
    using S = statistic_t<T>;
    kernel::AttentionWeights<T> o{};
    arena.begin_past(c.past * sizeof(S)), o.scores = arena.put<S>(scores);
    if (in_place) o.weights = {o.scores.offset};
    else arena.begin_past(0), o.weights = arena.room<T>(c.count());
    c.describe(o, arena);
    return o;
  };
}
template <class T>
auto backward(const Case& c, const Values& scores, const Values& d_weights, bool in_place) {
  return [=](Arena& arena) {
    using S = statistic_t<T>;
    kernel::AttentionWeightsBackward<T> o{};
    arena.begin_past(0), o.scores = arena.put<S>(scores);
    arena.begin_past(c.past * sizeof(S)), o.d_weights = arena.put<S>(d_weights);
    if (in_place) o.weights = {o.scores.offset}, o.d_scores = {o.d_weights.offset};
    else {
      arena.begin_past(0), o.weights = arena.room<T>(c.count());
      arena.begin_past(0), o.d_scores = arena.room<T>(c.count());
    }
    c.describe(o, arena);
    return o;
  };
}

struct Definition {
  Values weights, d_scores, sizes;  // sizes: |d_score| if nothing cancelled

  Definition(const Case& c, const Values& scores, const Values& d_weights)
      : weights(c.count()), d_scores(c.count()), sizes(c.count()) {
    const double scale = 1 / std::sqrt(double(c.shape().width)), keep = 65536.0 / (65536.0 - c.threshold);
    for (std::size_t row = 0; row < c.rows(); ++row) {
      const std::size_t head = 1 + 2 * (row / c.length), query = row % c.length, seen = c.causal ? query + 1 : c.length,
                        first = row * c.length;
      double total = 0, dot = 0, size = 0;
      for (std::size_t u = 0; u < seen; ++u) total += std::exp(scores[first + u] * scale);
      const auto factor = [&](std::size_t u) {
        const std::uint64_t element = (head % 2 * c.length + query) * c.length + u;
        const auto words = Philox::draw(Philox::mix(Philox::mix(random_numbers.seed, random_numbers.step), stream),
                                        element / 8, random_numbers.first_sample + head / 2);
        return (words.word[element % 8 / 2] >> (element % 2 * 16) & 0xFFFF) < c.threshold ? 0.0 : keep;
      };
      for (std::size_t u = 0; u < seen; ++u) {
        const double p = std::exp(scores[first + u] * scale) / total;
        weights[first + u] = p * factor(u);
        dot += weights[first + u] * d_weights[first + u];
        size += p * keep;
      }
      for (std::size_t u = 0; u < seen; ++u) {
        const double p = std::exp(scores[first + u] * scale) / total;
        d_scores[first + u] = p * (factor(u) * d_weights[first + u] - dot) * scale;
        sizes[first + u] = p * (keep + size) * scale;
      }
    }
  }
};

/// Scores of at most 12 are at most 4 when scaled, and differ from the largest by at most 8: an exponential has an
/// error of 10 u, and the sum of a row one of `length` u more. A gradient has both twice, and |d_weights| <= 1.
template <class T>
void is_its_definition(const Case& c) {
  using S = statistic_t<T>;
  CAPTURE(c.length, c.causal, c.threshold, c.past, name_of<T>);
  const double u = epsilon_of<S> / 2, error = 2 * (double(c.length) + 20) * u;
  const double tiny = std::is_same_v<T, fp16> ? 0x1p-25 : 0;
  const Values scores = values<S>(c.count(), 12), d_weights = values<S>(c.count(), 1, 2);
  const Definition right(c, scores, d_weights);
  const auto near = [&](const Values& wanted, const Values& sizes) {
    return [&, error, tiny](std::size_t i) { return error * sizes[i] + tiny + 1.001 * rounding_of<T>(wanted[i]); };
  };
  for (const bool in_place : {false, true}) {
    if (in_place && !std::is_same_v<S, T>) continue;
    in_every_way(c.room(), forward<T>(c, scores, in_place), [&](const Arena& arena, const auto& o) {
      CHECK(misses(arena.get(o.weights, c.count()), right.weights, near(right.weights, right.weights)) == 0);
    });
    in_every_way(c.room(), backward<T>(c, scores, d_weights, in_place), [&](const Arena& arena, const auto& o) {
      CHECK(misses(arena.get(o.weights, c.count()), right.weights, near(right.weights, right.weights)) == 0);
      CHECK(misses(arena.get(o.d_scores, c.count()), right.d_scores, near(right.d_scores, right.sizes)) == 0);
    });
  }
}

}  // namespace

/// Lengths that are multiples of 8, and not; rows that begin at multiples of 16 bytes, and not.
TEMPLATE_TEST_CASE("weights and their gradient are their definition", "", double, float, bf16, fp16) {
  for (const bool causal : {false, true})
    for (const std::uint32_t threshold : {0u, 20000u})
      for (const std::size_t length : Sizes{1, 7, 8, 40, 133}) {
        is_its_definition<TestType>({length, causal, threshold});
        if (length % 8 == 0) is_its_definition<TestType>({length, causal, threshold, 1});
      }
  is_its_definition<TestType>({264, true, 20000});  // a lane has two runs
}
TEST_CASE("rows for a block, held in registers") { is_its_definition<bf16>({1032, true, 20000, 0, 1}); }

TEST_CASE("what a query does not see is zero, whatever lies there, and NaN where it sees NaN") {
  for (const std::size_t length : Sizes{16, 17}) {
    const Case c{length, true, 0};
    Values scores = values<float>(c.count());
    for (std::size_t i = 0; i < c.count(); ++i)
      if (i % length > i / length % length) scores[i] = std::numeric_limits<double>::quiet_NaN();
    scores[3 * length + 1] = std::numeric_limits<double>::quiet_NaN();
    const auto judge = [&](const Values& all) {
      for (std::size_t i = 0; i < c.count(); ++i) {
        const std::size_t query = i / length % length, key = i % length;
        if (key > query) CHECK(all[i] == 0);
        else CHECK(std::isnan(all[i]) == (i / length == 3));
      }
    };
    in_every_way(c.room(), forward<float>(c, scores, false),
                 [&](const Arena& arena, const auto& o) { judge(arena.get(o.weights, c.count())); });
    in_every_way(c.room(), backward<float>(c, scores, scores, false),
                 [&](const Arena& arena, const auto& o) { judge(arena.get(o.d_scores, c.count())); });
  }
}

TEST_CASE("a missing barrier and a missing thread are told") {
  const Case block{133, false, 6554}, warp{40, true, 6554};
  const auto of = [](const Case& c) { return forward<float>(c, values<float>(c.count(), 12), false); };
  const auto weights = [](const Case& c) {
    return [&c](const Arena& arena, const auto& o) { return arena.get(o.weights, c.count()); };
  };
  for (const std::string& text : told<WithoutBarriers>(block.room(), of(block), weights(block))) {
    INFO(text);
    CHECK((text.find("shared memory that was written") != std::string::npos ||
           text.find("a barrier between two threads") != std::string::npos));
  }
  // Rows of a warp have no barrier to miss.
  for (const std::string& text : told<WithoutBarriers>(warp.room(), of(warp), weights(warp))) CHECK(text == "nothing");
  for (const Case& c : {block, warp})
    for (const std::string& text : told<WithoutAThread>(c.room(), of(c), weights(c)))
      CHECK_THAT(text, Catch::Contains("has left the kernel"));
}
// SPDX-License-Identifier: Apache-2.0
