// tests/kernel/attention.cpp — attention and its gradient, block by block, beside their definition in fp64 and the CPU
// engine.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/attention_kept.hpp>
#include <regimen/kernel/attention.hpp>

#include <cmath>
#include <limits>

using namespace regimen;
using namespace test;

namespace {

constexpr op::Random random_numbers{7, 3, 100};
constexpr std::uint64_t stream = 5;

struct Case {
  op::AttentionShape shape;
  std::uint32_t threshold = 0;

  std::size_t tokens() const { return shape.batch * shape.length; }
  std::size_t channels() const { return shape.heads * shape.width; }
  std::size_t rows() const { return tokens() * shape.heads; }
  std::size_t room() const { return tokens() * channels() * 9 * sizeof(double) + rows() * 3 * sizeof(double) + 4096; }
};

/// The definitions of op::Attention and op::AttentionBackward in fp64, with (T,T) matrices. sizes: what the terms of
/// each gradient add up to at most, where |d_y · v| <= D.
struct Definition {
  Values y, log_sum, d_qkv, sizes;

  Definition(const Case& c, const Values& qkv, const Values& d_y, const Values& stored_y)
      : y(d_y.size(), 0.0), log_sum(c.rows()), d_qkv(qkv.size(), 0.0), sizes(qkv.size(), 0.0) {
    const op::AttentionShape& s = c.shape;
    const double scale = 1 / std::sqrt(double(s.width)), keep = 65536.0 / (65536.0 - c.threshold),
                 most = 2 * double(s.width) * keep * scale;
    for (std::size_t b = 0; b < s.batch; ++b)
      for (std::size_t h = 0; h < s.heads; ++h)
        for (std::size_t t = 0; t < s.length; ++t) {
          const auto at = [&](std::size_t i, std::size_t part) {
            return (((b * s.length + i) * 3 + part) * s.heads + h) * s.width;
          };
          const std::size_t seen = s.causal ? t + 1 : s.length, to = ((b * s.length + t) * s.heads + h) * s.width;
          Values p(seen);
          double total = 0, dot = 0;
          for (std::size_t u = 0; u < seen; ++u) {
            for (std::size_t d = 0; d < s.width; ++d) p[u] += qkv[at(t, 0) + d] * qkv[at(u, 1) + d] * scale;
            total += p[u] = std::exp(p[u]);  // the scores are small enough
          }
          log_sum[(b * s.heads + h) * s.length + t] = std::log(total);
          for (std::size_t d = 0; d < s.width; ++d) dot += stored_y.empty() ? 0 : stored_y[to + d] * d_y[to + d];
          for (std::size_t u = 0; u < seen; ++u) {
            const std::uint64_t element = (h * s.length + t) * s.length + u;
            const Philox::Words words = Philox::draw(mix(mix(random_numbers.seed, random_numbers.step), stream),
                                                     element / 8, random_numbers.first_sample + b);
            const std::uint32_t bits = (words.word[element % 8 / 2] >> (element % 2 == 0 ? 0 : 16)) & 0xFFFF;
            const double factor = c.threshold == 0 ? 1 : bits < c.threshold ? 0 : keep;
            p[u] /= total;
            double d_p = 0;
            for (std::size_t d = 0; d < s.width; ++d) {
              y[to + d] += p[u] * factor * qkv[at(u, 2) + d];
              d_p += d_y[to + d] * qkv[at(u, 2) + d] * factor;
              d_qkv[at(u, 2) + d] += p[u] * factor * d_y[to + d];
              sizes[at(u, 2) + d] += p[u] * factor;
            }
            const double d_score = p[u] * (d_p - dot) * scale;
            for (std::size_t d = 0; d < s.width; ++d) {
              d_qkv[at(t, 0) + d] += d_score * qkv[at(u, 1) + d];
              d_qkv[at(u, 1) + d] += d_score * qkv[at(t, 0) + d];
              sizes[at(t, 0) + d] += p[u] * most;
              sizes[at(u, 1) + d] += p[u] * most;
            }
          }
        }
  }
};

/// Roundings to S, relative to the sizes of terms, where all numbers are below 1: a score is a sum of D products, at
/// most √D, whose error is that of exp, twice (once in the total); d_y · v another D; then a sum over positions, and a
/// dozen single roundings.
double roundings(const op::AttentionShape& s) {
  const double width = double(s.width);
  return 2 * (width + 2) * std::sqrt(width) + 2 * (width + 2) + double(s.length) + 16;
}

template <class T>
auto forward(const Case& c) {
  return [=](Arena& arena) {
    op::Attention<T> o{};
    o.qkv = arena.put<T>(values<T>(c.tokens() * 3 * c.channels())), o.y = arena.room<T>(c.tokens() * c.channels());
    o.log_sum = arena.room<statistic_t<T>>(c.rows()), o.shape = c.shape,
    o.drop = arena.drop(c.threshold, stream, random_numbers);
    return o;
  };
}
template <class T>
auto backward(const Case& c, const Values& y, const Values& log_sum) {
  return [=](Arena& arena) {
    op::AttentionBackward<T> o{};
    o.qkv = arena.put<T>(values<T>(c.tokens() * 3 * c.channels())), o.y = arena.put<T>(y);
    o.d_y = arena.put<T>(values<T>(c.tokens() * c.channels(), 1, 2)),
    o.d_qkv = arena.room<T>(c.tokens() * 3 * c.channels());
    o.log_sum = arena.put<statistic_t<T>>(log_sum), o.row_dot = arena.room<statistic_t<T>>(c.rows());
    o.shape = c.shape, o.drop = arena.drop(c.threshold, stream, random_numbers);
    return o;
  };
}

template <class T>
void is_its_definition(const Case& c) {
  CAPTURE(c.shape.batch, c.shape.length, c.shape.heads, c.shape.width, c.shape.causal, c.threshold, name_of<T>);
  const double u = epsilon_of<statistic_t<T>> / 2, error = roundings(c.shape) * u,
               keep = 65536.0 / (65536.0 - c.threshold);
  const Values qkv = values<T>(c.tokens() * 3 * c.channels()), d_y = values<T>(c.tokens() * c.channels(), 1, 2);
  const Definition first(c, qkv, d_y, {});
  Values y = first.y, log_sum = first.log_sum;
  const auto near_y = [&](std::size_t i) { return error * keep + 1.001 * rounding_of<T>(y[i]); };
  beside_the_cpu(c.room(), forward<T>(c), [&](const Arena& arena, const auto& o, const Arena& expected) {
    const Values own = arena.get(o.y, y.size()), sums = arena.get(o.log_sum, log_sum.size());
    CHECK(misses(own, y, near_y) == 0);
    CHECK(misses(sums, log_sum, [&](std::size_t i) { return error + u * std::fabs(log_sum[i]); }) == 0);
    CHECK(misses(own, expected.get(o.y, y.size()), [&](std::size_t i) { return 2 * near_y(i); }) == 0);
    CHECK(misses(sums, expected.get(o.log_sum, sums.size()),
                 [&](std::size_t i) { return 2 * (error + u * std::fabs(log_sum[i])); }) == 0);
  });
  for (double& value : y) value = number(rounded<T>(value));
  const Definition all(c, qkv, d_y, y);
  const auto near_d = [&](std::size_t i) { return error * all.sizes[i] + 1.001 * rounding_of<T>(all.d_qkv[i]); };
  beside_the_cpu(c.room(), backward<T>(c, y, log_sum), [&](const Arena& arena, const auto& o, const Arena& expected) {
    const Values own = arena.get(o.d_qkv, qkv.size());
    CHECK(misses(own, all.d_qkv, near_d) == 0);
    CHECK(misses(own, expected.get(o.d_qkv, qkv.size()), [&](std::size_t i) { return 2 * near_d(i); }) == 0);
  });
}

const auto y_of = [](const Arena& arena, const auto& o) {
  return arena.get(o.y, o.shape.batch * o.shape.length * o.shape.heads * o.shape.width);
};

}  // namespace

/// 130 and 261 positions are two tiles and three, 16 and 64 channels 16 bytes and more, 5 and 300 neither.
TEMPLATE_TEST_CASE("attention and its gradient are their definition", "", double, float, bf16, fp16) {
  for (const bool causal : {false, true})
    for (const std::uint32_t threshold : {0u, 6554u}) {
      is_its_definition<TestType>({{1, 1, 1, 1, causal}, threshold});
      is_its_definition<TestType>({{2, 17, 3, 5, causal}, threshold});
      is_its_definition<TestType>({{1, 130, 1, 16, causal}, threshold});
      is_its_definition<TestType>({{2, 6, 2, 64, causal}, threshold});
      is_its_definition<TestType>({{1, 5, 1, 300, causal}, threshold});
    }
}
TEST_CASE("three tiles, and the widest head") {
  is_its_definition<double>({{1, 261, 1, 3, true}, 30000});
  is_its_definition<double>({{1, 3, 1, op::AttentionShape::largest_width, false}, 0});
}

TEST_CASE("scores that are far apart, and NaN where a key is") {
  // Query 0 sees scores of 0 and 200: e^−200 counts as 0, and nothing overflows. Key 5 is NaN: whoever sees it is,
  // nobody else.
  const Case c{{1, 140, 1, 4, true}, 0};
  const auto make = [&](Arena& arena) {
    auto o = forward<float>(c)(arena);
    float* const qkv = arena.memory()(o.qkv);
    for (std::size_t t = 0; t < 140; ++t)
      for (std::size_t d = 0; d < 4; ++d) qkv[t * 12 + d] = 10, qkv[t * 12 + 4 + d] = t % 2 == 0 ? 10.0f : 0.0f;
    qkv[5 * 12 + 4] = std::numeric_limits<float>::quiet_NaN();
    return o;
  };
  in_every_way(c.room(), make, [&](const Arena& arena, const auto& o) {
    const Values y = y_of(arena, o), v = arena.get(o.qkv, 140 * 12);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t t = i / 4;
      CHECK(std::isnan(y[i]) == (t >= 5));
      if (t < 2) CHECK(y[i] == v[8 + i % 4]);
    }
  });
}

TEMPLATE_TEST_CASE("one query over kept keys and values", "", double, float, bf16, fp16) {
  using T = TestType;
  for (const std::size_t width : Sizes{1, 5, 64})
    for (const std::size_t seen : Sizes{1, 7, 129}) {
      CAPTURE(width, seen);
      const std::size_t window = 133, heads = 3, batch = 2, kept = batch * heads * window * width;
      const auto keep = [&](Arena& arena) {
        op::KeepKeys<T> o{};
        o.qkv = arena.put<T>(values<T>(batch * seen * 3 * heads * width));
        o.keys = arena.put<T>(values<T>(kept, 1, 2)), o.values = arena.put<T>(values<T>(kept, 1, 3));
        o.shape = {batch, seen, heads, width, true}, o.first = 4, o.window = window;
        return o;
      };
      const std::size_t room = (batch * seen * 3 * heads * width + 2 * kept) * sizeof(T) + (std::size_t{1} << 14);
      is_the_cpu(room, keep, [&](const Arena& arena, const auto& o) { return arena.get(o.keys, kept); });
      is_the_cpu(room, keep, [&](const Arena& arena, const auto& o) { return arena.get(o.values, kept); });
      const auto attend = [&](Arena& arena) {
        op::AttendKept<T> o{};
        o.qkv = arena.put<T>(values<T>(batch * 3 * heads * width)), o.y = arena.room<T>(batch * heads * width);
        o.keys = arena.put<T>(values<T>(kept, 1, 2)), o.values = arena.put<T>(values<T>(kept, 1, 3));
        o.shape = {batch, 1, heads, width, true}, o.seen = seen, o.window = window;
        return o;
      };
      beside_the_cpu(room, attend, [&](const Arena& arena, const auto& o, const Arena& expected) {
        const double error = roundings({batch, seen, heads, width, true}) * epsilon_of<statistic_t<T>> / 2;
        const Values own = y_of(arena, o), wanted = y_of(expected, o);
        CHECK(misses(own, wanted, [&](std::size_t i) { return 2 * error + 2.002 * rounding_of<T>(wanted[i]); }) == 0);
      });
    }
}

TEST_CASE("a missing barrier and a missing thread are told") {
  const Case c{{1, 9, 2, 40, true}, 6554};
  const Definition all(c, values<float>(c.tokens() * 3 * c.channels()), values<float>(c.tokens() * c.channels(), 1, 2),
                       {});
  const auto d_of = [&](const Arena& arena, const auto& o) {
    return arena.get(o.d_qkv, c.tokens() * 3 * c.channels());
  };
  const auto is_told = [](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      INFO(text);
      CHECK((text.find("shared memory that was written") != std::string::npos ||
             text.find("a barrier between two threads") != std::string::npos));
    }
  };
  is_told(told<WithoutBarriers>(c.room(), forward<float>(c), y_of));
  is_told(told<WithoutBarriers, 1>(c.room(), backward<float>(c, all.y, all.log_sum), d_of));
  is_told(told<WithoutBarriers, 2>(c.room(), backward<float>(c, all.y, all.log_sum), d_of));
  for (const std::string& text : told<WithoutAThread>(c.room(), forward<float>(c), y_of))
    CHECK_THAT(text, Catch::Contains("has left the kernel"));
}
// SPDX-License-Identifier: Apache-2.0
