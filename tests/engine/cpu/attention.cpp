// tests/engine/cpu/attention.cpp — attention and its gradient against naive ones in fp64, and against differences.
// compiled with -O1
#include "arena.hpp"

#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/execute.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using namespace regimen;

constexpr op::Random random_of_test{7, 3, 100};
using Sizes = std::initializer_list<std::size_t>;

/// Values in (-1, 1), a function of `seed` and the place.
template <class T>
std::vector<T> values(std::size_t count, std::uint64_t seed) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(static_cast<std::int64_t>(Philox::mix(i, seed) >> 11)) * 0x1p-52 - 1.0;
    if constexpr (std::is_same_v<T, double>) result[i] = value;
    else result[i] = T(static_cast<float>(value));
  }
  return result;
}

template <class T>
double exactly(T x) {
  if constexpr (std::is_same_v<T, double>) return x;
  else return static_cast<double>(static_cast<float>(x));
}

template <class T>
std::vector<double> exactly(const std::vector<T>& from) {
  std::vector<double> result;
  for (const T x : from) result.push_back(exactly(x));
  return result;
}

template <class T>
struct Result {
  using S = statistic_t<T>;
  std::vector<T> y, d_qkv;
  std::vector<op::SoftmaxRow<S>> softmax;
};

/// Forward, and backward if d_y is not empty, in an arena that is exactly as large as the tensors and full of NaN.
template <class T>
Result<T> run(const op::AttentionShape& s, const op::Drop& drop, const std::vector<T>& qkv, const std::vector<T>& d_y) {
  using S = statistic_t<T>;
  const std::size_t tokens = s.batch * s.length, channels = s.heads * s.width, rows = tokens * s.heads,
                    of_qkv = tokens * s.all_heads() * s.width;
  op::AttentionBackward<T> backward;
  std::size_t end = 0;
  const auto place = [&](auto& view, std::size_t bytes) {
    view.offset = end;
    end += (bytes + 63) / 64 * 64;
  };
  place(backward.qkv, of_qkv * sizeof(T));
  place(backward.y, tokens * channels * sizeof(T));
  place(backward.d_y, tokens * channels * sizeof(T));
  place(backward.d_qkv, of_qkv * sizeof(T));
  place(backward.softmax, rows * sizeof(op::SoftmaxRow<S>));
  place(backward.row_dot, rows * sizeof(S));
  backward.shape = s;
  backward.drop = drop;
  place(backward.drop.random, sizeof random_of_test);
  op::Attention<T> forward{backward.qkv, backward.y, backward.softmax, s, backward.drop};
  std::vector<std::byte> arena(end, std::byte{0xFF});
  const cpu::Memory at{arena.data(), arena.size()};
  *at(backward.drop.random) = random_of_test;
  std::memcpy(at(backward.qkv), qkv.data(), qkv.size() * sizeof(T));
  cpu::execute(forward, at);
  Result<T> result;
  result.y.assign(at(forward.y), at(forward.y) + tokens * channels);
  result.softmax.assign(at(forward.softmax), at(forward.softmax) + rows);
  if (!d_y.empty()) {
    std::memcpy(at(backward.d_y), d_y.data(), d_y.size() * sizeof(T));
    cpu::execute(backward, at);
    result.d_qkv.assign(at(backward.d_qkv), at(backward.d_qkv) + of_qkv);
  }
  return result;
}

/// How far a stored y may be from y: `computed`, and a share of it where it is rounded to 16 bits.
struct OfStored {
  double computed = 0, share = 0;
  double operator()(double y) const { return computed + share * (std::fabs(y) + computed) + (share > 0 ? 0x1p-25 : 0); }
};

/// The definition of op::Attention and its gradient, with (T,T) matrices.
struct Naive {
  std::vector<double> y, d_qkv, log_sum;
  std::vector<double> slack;  // of d_qkv, because backward reads y as it was stored
  double column_sum = 0;      // the largest Σ over queries, of all heads that share a key, of a kept probability
};

Naive naive(const op::AttentionShape& s, const op::Drop& drop, const std::vector<double>& qkv,
            const std::vector<double>& d_y, const OfStored& of_stored = {}) {
  const std::size_t n = s.length, width = s.width;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  Naive result;
  result.y.assign(s.batch * n * s.heads * width, 0);
  result.d_qkv.assign(qkv.size(), 0);
  result.slack.assign(qkv.size(), 0);
  result.log_sum.assign(s.batch * s.heads * n, 0);
  const std::uint64_t key = Philox::mix(Philox::mix(random_of_test.seed, random_of_test.step), drop.stream);
  for (std::size_t b = 0; b < s.batch; ++b) {
    std::vector<double> columns;
    for (std::size_t h = 0; h < s.heads; ++h) {
      const auto at = [&](std::size_t t, std::size_t part) {
        return ((b * n + t) * s.all_heads() + s.place(h, part)) * width;
      };
      const auto at_y = [&](std::size_t t) { return ((b * n + t) * s.heads + h) * width; };
      if (h % s.group() == 0) columns.assign(n, 0.0);
      for (std::size_t t = 0; t < n; ++t) {
        const std::size_t seen = s.causal ? t + 1 : n;
        std::vector<double> p(seen), factor(seen, 1.0), d_p(seen);
        double total = 0, dot = 0;
        for (std::size_t u = 0; u < seen; ++u) {
          for (std::size_t d = 0; d < width; ++d) p[u] += qkv[at(t, 0) + d] * qkv[at(u, 1) + d] * scale;
          total += p[u] = std::exp(p[u]);  // the scores are small enough
          if (drop.threshold > 0) {
            const std::uint64_t element = (h * n + t) * n + u;
            const Philox::Words words = Philox::draw(key, element / 8, random_of_test.first_sample + b);
            const std::uint32_t bits = (words.word[element % 8 / 2] >> (element % 2 == 0 ? 0 : 16)) & 0xFFFF;
            factor[u] = bits < drop.threshold ? 0 : drop.keep_factor();
          }
        }
        result.log_sum[(b * s.heads + h) * n + t] = std::log(total);
        for (std::size_t u = 0; u < seen; ++u) {
          p[u] /= total;
          columns[u] += p[u] * factor[u];
          for (std::size_t d = 0; d < width; ++d) result.y[at_y(t) + d] += p[u] * factor[u] * qkv[at(u, 2) + d];
        }
        if (d_y.empty()) continue;
        double dot_error = 0;
        for (std::size_t d = 0; d < width; ++d)
          dot_error += std::fabs(d_y[at_y(t) + d]) * of_stored(result.y[at_y(t) + d]);
        for (std::size_t u = 0; u < seen; ++u) {
          for (std::size_t d = 0; d < width; ++d) {
            d_p[u] += d_y[at_y(t) + d] * qkv[at(u, 2) + d] * factor[u];
            result.d_qkv[at(u, 2) + d] += p[u] * factor[u] * d_y[at_y(t) + d];
          }
          dot += p[u] * d_p[u];
        }
        for (std::size_t u = 0; u < seen; ++u)
          for (std::size_t d = 0; d < width; ++d) {
            const double d_score = p[u] * (d_p[u] - dot) * scale, score_error = p[u] * dot_error * scale;
            result.d_qkv[at(t, 0) + d] += d_score * qkv[at(u, 1) + d];
            result.d_qkv[at(u, 1) + d] += d_score * qkv[at(t, 0) + d];
            result.slack[at(t, 0) + d] += score_error * std::fabs(qkv[at(u, 1) + d]);
            result.slack[at(u, 1) + d] += score_error * std::fabs(qkv[at(t, 0) + d]);
          }
      }
      result.column_sum = std::max(result.column_sum, *std::max_element(columns.begin(), columns.end()));
    }
  }
  return result;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // a NaN stays
    if (std::isnan(largest)) return largest;
  }
  return largest;
}

/// log Σ exp of the scaled scores, of the two numbers of each row.
template <class T>
std::vector<double> log_sums(const Result<T>& result, double root) {
  std::vector<double> all;
  for (const auto& row : result.softmax) all.push_back(exactly(row.largest) / root - std::log(exactly(row.factor)));
  return all;
}

/// With |q|, |k|, |v|, |d_y| <= 1 and u = eps_S / 2:
///   a score is off by at most (D + 3) u √D, and its difference to the maximum, or log Σ exp, by 3 u (√D + log T) more;
///   exp adds 4 u, a running maximum 4 u per tile of at least 32 keys: relative error `r` of a probability.
///   y: numerator and denominator carry r and γ_T, times |y| <= f, the largest dropout factor; then one rounding to T.
///   d_v: Σ_t p f (r + γ_T). d_p: (D + 1) u D f; row_dot: the same, and Σ |d_y| times the error of the stored y.
///   d_s = p (d_p − row_dot) scale, summed over keys (Σ p = 1) or queries (Σ p <= c). Then one rounding to T.
/// What 16-bit formats round is counted for each element: the largest of all would be more than a typical gradient.
template <class T>
void check(const op::AttentionShape& s, double rate) {
  CAPTURE(s.batch, s.length, s.heads, s.width, s.causal, rate, name_of<T>);
  const op::Drop drop{static_cast<std::uint32_t>(rate * 65536), 42};
  const std::size_t count = s.batch * s.length * s.heads * s.width;
  const std::vector<T> qkv = values<T>(s.batch * s.length * s.all_heads() * s.width, 1), d_y = values<T>(count, 2);
  const Result<T> result = run(s, drop, qkv, d_y);

  const double width = static_cast<double>(s.width), length = static_cast<double>(s.length), root = std::sqrt(width);
  const double u = epsilon_of<statistic_t<T>> / 2, store = std::is_same_v<T, statistic_t<T>> ? 0 : epsilon_of<T> / 2;
  const double f = drop.keep_factor();
  const double r = ((width + 3) * root + 3 * (root + std::log(length) + 1) + 4 + 4 * (length / 32 + 1)) * u * 1.01;
  const double sums = (length * double(s.group()) + 4) * u * 1.01;
  const double error_y = f * (2 * r + 2 * sums), error_log = r + sums + 2 * u * (root + std::log(length) + 1);
  const OfStored of_stored{error_y, store};
  const Naive expected = naive(s, drop, exactly(qkv), exactly(d_y), of_stored);
  CHECK(largest_difference(log_sums(result, root), expected.log_sum) <= error_log);
  CHECK(test::misses(exactly(result.y), expected.y, [&](std::size_t i) { return of_stored(expected.y[i]); }) == 0);

  const double r_again = r + error_log, c = std::max(expected.column_sum, 1.0);
  const double error_difference = (2 * width + 5) * u * width * f, size_difference = 2 * width * f;
  const double error_score = (size_difference * (r_again + 3 * u + sums) + error_difference) / root;
  const double error_gradient = std::max(error_score * c, c * (r_again + sums));
  CHECK(test::misses(exactly(result.d_qkv), expected.d_qkv, [&](std::size_t i) {
          return OfStored{error_gradient + expected.slack[i], store}(expected.d_qkv[i]);
        }) == 0);
}

}  // namespace

TEST_CASE("attention and its gradient agree with the definition in fp64") {
  for (const bool causal : {false, true})
    for (const double rate : {0.0, 0.25}) {
      check<double>({2, 5, 2, 8, causal}, rate);
      check<double>({1, 33, 1, 3, causal}, rate);    // one key more than a tile of fp64
      check<double>({1, 150, 2, 37, causal}, rate);  // few heads, several tiles: backward in two passes
      check<double>({9, 70, 2, 16, causal}, rate);   // many heads: backward in one
      check<double>({1, 1, 1, 1, causal}, rate);
    }
}

TEST_CASE("attention agrees with the definition in every element type, for odd lengths and widths") {
  for (const bool causal : {false, true})
    for (const double rate : {0.0, 0.1}) {
      const auto shapes = [&](auto type) {
        using T = decltype(type);
        check<T>({3, 64, 4, 32, causal}, rate);
        check<T>({2, 129, 9, 24, causal}, rate);
        check<T>({1, 200, 1, 65, causal}, rate);
        check<T>({1, 65, 2, 256, causal}, rate);
        check<T>({2, 7, 3, 1, causal}, rate);
        check<T>({1, 12, 1, 16, causal}, rate);
        check<T>({1, 131, 1, 33, causal}, rate);
      };
      shapes(float{});
      shapes(bf16{});
      shapes(fp16{});
    }
}

TEST_CASE("heads that share keys agree with the definition") {
  for (const bool causal : {false, true})
    for (const double rate : {0.0, 0.25}) {
      check<double>({2, 5, 4, 8, causal, 2}, rate);
      check<double>({1, 150, 6, 37, causal, 2}, rate);  // several tiles
      check<double>({9, 70, 4, 16, causal, 1}, rate);   // many heads
      check<float>({2, 33, 6, 24, causal, 3}, rate);
      check<bf16>({1, 65, 2, 300, causal, 1}, rate);  // of pieces
    }
}

// A head wider than 256 channels is taken in pieces of 256, in tiles whose rows depend on the width.
TEST_CASE("wide heads agree with the definition, up to the widest") {
  for (const bool causal : {false, true}) {
    for (const std::size_t width : Sizes{257, 272, 512, 515}) {
      check<float>({1, 70, 1, width, causal}, 0.25);
      check<bf16>({2, 13, 1, width, causal}, 0);
      check<double>({1, 45, 2, width, causal}, 0);
    }
    check<float>({2, 21, 16, 1500, causal}, 0);  // heads enough for one pass, whose gradients of queries it keeps
    for (const std::size_t length : Sizes{1, 13, 16, 17, 40}) {
      check<float>({1, length, 1, 2048, causal}, 0);
      check<double>({1, length, 1, 2048, causal}, 0.25);
    }
    check<fp16>({1, 33, 2, 1031, causal}, 0);
  }
}

TEMPLATE_TEST_CASE("a NaN in a query or a key reaches every position that sees it, and no other", "", float, double,
                   bf16, fp16) {
  using T = TestType;
  for (const bool causal : {false, true})
    for (const std::size_t width : Sizes{8, 272})
      for (const std::size_t part : Sizes{0, 1})  // query, key
        for (const std::size_t at : Sizes{0, 1, 63, 64, 89}) {
          const op::AttentionShape s{1, 90, 2, width, causal};
          const std::size_t count = s.length * s.heads * width;
          std::vector<T> qkv = values<T>(3 * count, 1);
          qkv[((at * 3 + part) * s.heads + 1) * width + width - 1] =
              T(std::numeric_limits<statistic_t<T>>::quiet_NaN());
          const Result<T> result = run(s, {}, qkv, values<T>(count, 2));
          std::size_t wrong = 0;
          for (std::size_t t = 0; t < s.length; ++t)
            for (std::size_t h = 0; h < s.heads; ++h) {
              const bool sees = h == 1 && (part == 0 ? t == at : !causal || t >= at);
              wrong += std::isnan(exactly(result.y[(t * s.heads + h) * width])) != sees;
              wrong += std::isnan(exactly(result.softmax[h * s.length + t].factor)) != sees;
            }
          CHECK(wrong == 0);
          // Backward: the keys that a NaN query sees have no finite gradient.
          CHECK(std::isnan(exactly(result.d_qkv[((at * 3 + 1) * s.heads + 1) * width])));
        }
}

TEST_CASE("the gradient of attention is what differences say") {
  for (const bool causal : {false, true})
    for (const double rate : {0.0, 0.5}) {
      const op::AttentionShape s{1, 40, 2, 5, causal};
      const op::Drop drop{static_cast<std::uint32_t>(rate * 65536), 9};
      const std::size_t count = s.batch * s.length * s.heads * s.width;
      std::vector<double> qkv = values<double>(3 * count, 1);
      const std::vector<double> weight = values<double>(count, 2);
      const std::vector<double> gradient = run(s, drop, qkv, weight).d_qkv;
      const auto loss = [&] {
        const std::vector<double> y = run(s, drop, qkv, {}).y;
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += weight[i] * y[i];
        return sum;
      };
      // Central differences err by h²/6 of a third derivative (some 10) and by rounding: 2^-52 · 100 / h.
      const double h = 1e-5;
      double largest = 0;
      for (std::size_t i = 0; i < qkv.size(); i += 7) {
        const double before = qkv[i];
        qkv[i] = before + h;
        const double up = loss();
        qkv[i] = before - h;
        const double down = loss();
        qkv[i] = before;
        largest = std::max(largest, std::fabs((up - down) / (2 * h) - gradient[i]));
      }
      CHECK(largest < 1e-8);
    }
}

TEST_CASE("causal attention does not see the future, to the last bit") {
  const op::AttentionShape s{1, 150, 2, 20, true};
  const std::size_t token = 3 * s.heads * s.width, seen = 77;
  std::vector<float> qkv = values<float>(s.length * token, 1);
  const std::vector<float> before = run<float>(s, {}, qkv, {}).y;
  for (std::size_t i = seen * token; i < qkv.size(); ++i) qkv[i] = 3.0f - qkv[i];
  const std::vector<float> after = run<float>(s, {}, qkv, {}).y;
  CHECK(std::memcmp(before.data(), after.data(), seen * s.heads * s.width * sizeof(float)) == 0);
  CHECK(before != after);
}

TEST_CASE("attention survives scores that would overflow or vanish without a running maximum") {
  const op::AttentionShape s{1, 100, 1, 4, false};
  for (const std::size_t top : {std::size_t{3}, std::size_t{90}}) {  // in the first tile of keys, and in the last
    std::vector<float> qkv(s.length * 3 * s.width, 0.0f), d_y(s.length * s.width, 1.0f);
    for (std::size_t t = 0; t < s.length; ++t) {
      qkv[t * 12] = 100.0f;                                                             // q
      qkv[t * 12 + 4] = t == top ? 20.0f : (t == s.length - 1 - top ? 10.0f : -20.0f);  // k: scores 1000, 500, -1000
      qkv[t * 12 + 8] = static_cast<float>(t);                                          // v
    }
    const Result<float> result = run<float>(s, {}, qkv, d_y);
    for (std::size_t t = 0; t < s.length; ++t) {
      CHECK(result.y[t * 4] == static_cast<float>(top));
      CHECK(result.softmax[t].largest == 2000.0f);
      CHECK(result.softmax[t].factor == 1.0f);
    }
    for (const float x : result.d_qkv) REQUIRE(std::isfinite(x));
  }
}

TEST_CASE("a sequence of 2048 agrees with the definition") {
  const op::AttentionShape s{1, 2048, 1, 16, true};
  const std::size_t count = s.length * s.width;
  const std::vector<float> qkv = values<float>(3 * count, 1), d_y = values<float>(count, 2);
  const Result<float> result = run<float>(s, {}, qkv, d_y);
  const Naive expected = naive(s, {}, exactly(qkv), exactly(d_y));
  CHECK(largest_difference(exactly(result.y), expected.y) < 1e-5);
  CHECK(largest_difference(exactly(result.d_qkv), expected.d_qkv) < 1e-5);
}

TEST_CASE("attention does not depend on the number of threads") {
  const int threads = regimen::thread_count();
  for (const op::AttentionShape& s :
       {op::AttentionShape{.batch = 5, .length = 90, .heads = 4, .width = 24, .causal = true},
        op::AttentionShape{.batch = 1, .length = 300, .heads = 2, .width = 40}}) {
    const std::size_t count = s.batch * s.length * s.heads * s.width;
    const std::vector<bf16> qkv = values<bf16>(3 * count, 1), d_y = values<bf16>(count, 2);
    set_threads(1);
    const Result<bf16> one = run<bf16>(s, {6000, 1}, qkv, d_y);
    for (const int more : {2, 5}) {
      set_threads(more);
      const Result<bf16> several = run<bf16>(s, {6000, 1}, qkv, d_y);
      CHECK(std::memcmp(one.y.data(), several.y.data(), count * sizeof(bf16)) == 0);
      CHECK(std::memcmp(one.d_qkv.data(), several.d_qkv.data(), 3 * count * sizeof(bf16)) == 0);
      CHECK(std::memcmp(one.softmax.data(), several.softmax.data(), one.softmax.size() * 2 * sizeof(float)) == 0);
    }
  }
  set_threads(threads);
}
