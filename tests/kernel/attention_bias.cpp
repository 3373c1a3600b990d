// tests/kernel/attention_bias.cpp — attention whose scores depend on distances, on the CPU and block by block, by its
// definition in fp64; slopes and buckets as their authors' programs have them.
#include "against_cpu.hpp"
#include "attention_definition.hpp"

#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/attention_kept.hpp>
#include <regimen/kernel/attention_bias.hpp>

#include <cmath>

using namespace regimen;
using namespace test;

namespace {

Case biased(op::AttentionShape shape, std::uint32_t threshold = 0) {
  Case c{shape, threshold};
  c.bias = values<float>(shape.heads * shape.distances(), 1, 3);
  return c;
}

/// The tolerances of tests/kernel/attention.cpp; for the addition of a number below 1 to a score, there and back, four
/// more roundings of numbers below √D + 1.
template <class T>
void is_its_definition(const Case& c) {
  using S = statistic_t<T>;
  const op::AttentionShape& s = c.shape;
  CAPTURE(s.batch, s.length, s.window, s.heads, s.width, s.key_heads, s.causal, s.is_scaled, c.threshold, name_of<T>);
  const double u = epsilon_of<S> / 2, error = (roundings(s) + 4 * (std::sqrt(double(s.width)) + 1)) * u,
               keep = 65536.0 / (65536.0 - c.threshold);
  const Values qkv = values<T>(c.qkv()), d_y = values<T>(c.tokens() * c.channels(), 1, 2);
  const Definition first(c, qkv, d_y, {});
  const std::size_t room = c.room() + (c.bias.size() + first.d_bias.size()) * sizeof(double) + 256;
  Values y = first.y;
  by_definition(
      room, [&](Arena& arena) { return op::BiasedAttention<T>{forward<T>(c)(arena), arena.put<S>(c.bias)}; },
      [&](const Arena& arena, const auto& o) {
        CHECK(misses(arena.get(o.attention.y, y.size()), y,
                     [&](std::size_t i) { return error * keep + 1.001 * rounding_of<T>(y[i]); }) == 0);
        CHECK(misses(log_sums(c, arena, o.attention.softmax), first.log_sum,
                     [&](std::size_t i) { return error + u * std::fabs(first.log_sum[i]); }) == 0);
      });
  for (double& value : y) value = number(rounded<T>(value));
  const Definition whole(c, qkv, d_y, y);
  for (const bool wanted : {true, false})
    by_definition(
        room,
        [&](Arena& arena) {
          op::BiasedAttentionBackward<T> o{backward<T>(c, y, first.softmax)(arena), arena.put<S>(c.bias)};
          if (wanted) o.d_bias = arena.room<S>(whole.d_bias.size());
          return o;
        },
        [&](const Arena& arena, const auto& o) {
          CHECK(misses(arena.get(o.backward.d_qkv, qkv.size()), whole.d_qkv, [&](std::size_t i) {
                  return error * whole.sizes[i] + whole.slack[i] + 1.001 * rounding_of<T>(whole.d_qkv[i]);
                }) == 0);
          if (wanted)
            CHECK(misses(arena.get(o.d_bias, whole.d_bias.size()), whole.d_bias,
                         [&](std::size_t i) { return error * whole.bias_sizes[i] + whole.bias_slack[i]; }) == 0);
        });
}

op::AttentionShape shape(std::size_t batch, std::size_t length, std::size_t heads, std::size_t width, bool causal,
                         std::size_t key_heads = 0, std::size_t window = 0, bool is_scaled = true) {
  return {batch, length, heads, width, causal, key_heads, 0, window, is_scaled};
}

}  // namespace

/// One tile of keys and several, of 32 (fp64 on the CPU), 64 or 128; windows within and beyond a tile.
TEMPLATE_TEST_CASE("attention with a bias of distances is its definition", "", double, float, bf16) {
  using T = TestType;
  for (const bool causal : {true, false}) {
    is_its_definition<T>(biased(shape(2, 17, 3, 5, causal), 6554));
    is_its_definition<T>(biased(shape(1, causal ? 137 : 70, 2, 4, causal, 1), 6554));
    is_its_definition<T>(biased(shape(9, 35, 2, 3, causal, 0, 0, false)));  // many heads: one pass on the CPU
  }
  is_its_definition<T>(biased(shape(1, 75, 2, 3, true, 1, 40), 6554));
  is_its_definition<T>(biased(shape(1, 40, 2, 3, true, 0, 5)));
  is_its_definition<T>(biased(shape(1, 40, 1, 300, true)));  // a head in pieces
}

/// The last position of causal attention, against keys of which it sees the last `seen`.
TEMPLATE_TEST_CASE("one position with kept keys and a bias is the last of all", "", double, float, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const std::size_t seen : Sizes{1, 7, 70}) {
    const std::size_t window = 75;
    Case c = biased(shape(1, seen, 4, 5, true, 2));
    const Values qkv = values<T>(c.qkv());
    const Definition whole(c, qkv, Values(c.tokens() * c.channels(), 0.0), {});
    Values kept[2], bias(4 * window, 9.0), last(qkv.end() - 8 * 5, qkv.end());
    for (std::size_t part = 0; part < 2; ++part) {
      kept[part].assign(2 * window * 5, 9.0);
      for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t u = 0; u < seen; ++u)
          for (std::size_t d = 0; d < 5; ++d)
            kept[part][(h * window + u) * 5 + d] = qkv[(u * 8 + 4 + 2 * part + h) * 5 + d];
    }
    for (std::size_t h = 0; h < 4; ++h)
      for (std::size_t i = 0; i < seen; ++i) bias[h * window + window - seen + i] = c.bias[h * seen + i];
    const double error = (roundings(c.shape) + 4 * (std::sqrt(5.0) + 1)) * epsilon_of<S> / 2;
    by_definition(
        65536,
        [&](Arena& arena) {
          op::BiasedAttendKept<T> o{};
          o.kept.qkv = arena.put<T>(last), o.kept.keys = arena.put<T>(kept[0]), o.kept.values = arena.put<T>(kept[1]);
          o.kept.y = arena.room<T>(20), o.kept.shape = shape(1, 1, 4, 5, true, 2), o.kept.seen = seen;
          o.kept.window = window, o.bias = arena.put<S>(bias);
          return o;
        },
        [&](const Arena& arena, const auto& o) {
          const Values y(whole.y.end() - 20, whole.y.end());
          CHECK(misses(arena.get(o.kept.y, 20), y,
                       [&](std::size_t i) { return error + 1.001 * rounding_of<T>(y[i]); }) == 0);
        });
  }
}

/// The authors' get_slopes: powers of 2^(−8/n), and for other n those of the power below and every second of twice it.
TEST_CASE("slopes are those of Press et al.") {
  const auto slopes = [](std::size_t heads) {
    Values all;
    for (std::size_t h = 0; h < heads; ++h) all.push_back(op::alibi_slope(h, heads));
    return all;
  };
  CHECK(slopes(8) == Values{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
  CHECK(slopes(1) == Values{0x1p-8});
  CHECK(slopes(3) == Values{0x1p-4, 0x1p-8, 0x1p-2});
  const Values twelve = slopes(12);  // get_slopes(12) in Python
  CHECK(std::fabs(twelve[8] - 0.70710678118654757) < 1e-15);
  CHECK(std::fabs(twelve[9] - 0.35355339059327384) < 1e-15);
  CHECK(std::fabs(twelve[11] - 0.088388347648318488) < 1e-15);
  for (const bool causal : {true, false}) {
    const std::size_t distances = causal ? 70 : 139;
    Values bias;
    for (std::size_t h = 0; h < 12; ++h)
      for (std::size_t i = 0; i < distances; ++i) bias.push_back(-twelve[h] * std::fabs(double(i) - 69));
    by_definition(
        32768, [&](Arena& arena) { return op::AlibiBias<float>{arena.room<float>(12 * distances), 12, 70, distances}; },
        [&](const Arena& arena, const auto& o) {
          CHECK(misses(arena.get(o.bias, bias.size()), bias,
                       [&](std::size_t i) { return 1.001 * rounding_of<float>(bias[i]); }) == 0);
        });
  }
}

/// The last of each run of one bucket, from T5Attention._relative_position_bucket of Hugging Face transformers, of 32
/// buckets and distances up to 128, before and behind.
TEST_CASE("buckets are those of T5, and their ranges are what they hold") {
  const op::DistanceBuckets both{32, 128, false}, before{32, 128, true};
  const std::size_t far = 300;
  const auto last_of = [&](const op::DistanceBuckets& buckets, bool later) {
    std::vector<std::size_t> last(32, 0);
    for (std::size_t d = later ? 1 : 0; d < far; ++d) last[buckets(later ? far - 1 + d : far - 1 - d, far)] = d;
    return last;
  };
  using Last = std::vector<std::size_t>;
  CHECK(last_of(both, false) ==
        Last{0, 1, 2, 3, 4, 5, 6, 7, 11, 15, 22, 31, 45, 63, 90, 299, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(last_of(both, true) ==
        Last{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 11, 15, 22, 31, 45, 63, 90, 299});
  CHECK(last_of(before, false) == Last{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,  15,
                                       18, 20, 23, 26, 30, 34, 39, 45, 51, 58, 66, 76, 86, 98, 112, 299});
  for (const bool causal : {true, false})
    for (const std::size_t length : Sizes{1, 2, 9, 150})
      for (const op::DistanceBuckets& buckets :
           {op::DistanceBuckets{32, 128, causal}, op::DistanceBuckets{4, 3, causal}}) {
        std::size_t held = 0;
        for (std::size_t bucket = 0; bucket < buckets.count; ++bucket) {
          const auto range = buckets.range(bucket, length);
          for (std::size_t i = range.begin; i < range.end; ++i, ++held) CHECK(buckets(i, length) == bucket);
        }
        CHECK(held == (causal ? length : 2 * length - 1));
      }
}

TEMPLATE_TEST_CASE("a table of buckets is read and summed", "", double, float, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const bool causal : {true, false})
    for (const bool add : {false, true}) {
      const std::size_t length = 37, distances = causal ? length : 2 * length - 1, heads = 3, batch = 2;
      const op::DistanceBuckets buckets{6, 20, causal};
      const Values table = integers<T>(6 * heads), d_bias = integers<S>(batch * heads * distances, 2);
      Values bias(heads * distances), d_table(6 * heads, 0.0);
      if (add) d_table = table;
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t i = 0; i < distances; ++i) {
          bias[h * distances + i] = table[buckets(i, length) * heads + h];
          for (std::size_t b = 0; b < batch; ++b)
            d_table[buckets(i, length) * heads + h] += d_bias[(b * heads + h) * distances + i];
        }
      by_definition(
          32768,
          [&](Arena& arena) {
            return op::BucketBias<T>{
                arena.put<T>(table), arena.room<S>(bias.size()), heads, length, distances, buckets};
          },
          [&](const Arena& arena, const auto& o) { CHECK(arena.get(o.bias, bias.size()) == bias); });
      by_definition(
          32768,
          [&](Arena& arena) {
            return op::BucketBiasBackward<S, S>{
                arena.put<S>(d_bias), arena.put<S>(table), batch, heads, length, distances, buckets, add};
          },
          [&](const Arena& arena, const auto& o) { CHECK(arena.get(o.d_table, d_table.size()) == d_table); });
    }
}
// SPDX-License-Identifier: Apache-2.0
