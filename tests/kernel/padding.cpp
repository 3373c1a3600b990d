// tests/kernel/padding.cpp — attention to keys that end where a text does, on the CPU and block by block, by its definition
// in fp64; the lengths of texts.
#include "against_cpu.hpp"
#include "attention_definition.hpp"

#include <regimen/engine/cpu/attention.hpp>
#include <regimen/kernel/padding.hpp>

#include <cmath>
#include <utility>
#include <vector>

using namespace regimen;
using namespace test;

namespace {

template <class Operation>
op::WithinLengths<Operation> within(Arena& arena, const Operation& o, const Case& c) {
  return {o, put_integers(arena, c.lengths)};
}
/// Numbers of the two tensors that hold q and k, v, one behind the other.
Values joined(const Arena& arena, auto q, auto kv, const Case& c) {
  Values all = arena.get(q, c.tokens() * c.channels());
  const Values more = arena.get(kv, c.qkv() - all.size());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// The tolerances of tests/kernel/attention.cpp and attention_bias.cpp.
template <class T>
void is_its_definition(const Case& c) {
  using S = statistic_t<T>;
  const op::AttentionShape& s = c.shape;
  CAPTURE(s.batch, s.length, s.key_length, s.heads, s.width, s.key_heads, c.lengths, c.bias.size(), name_of<T>);
  const double u = epsilon_of<S> / 2, error = (roundings(s) + 4 * (std::sqrt(double(s.width)) + 1)) * u,
               keep = 65536.0 / (65536.0 - c.threshold);
  const Values qkv = values<T>(c.qkv()), d_y = values<T>(c.tokens() * c.channels(), 1, 2);
  const Definition first(c, qkv, d_y, {});
  const std::size_t room = c.room() + (c.bias.size() + first.d_bias.size() + c.lengths.size()) * sizeof(double) + 512;
  const auto ends = qkv.begin() + std::ptrdiff_t(c.tokens() * c.channels());
  const Values q(qkv.begin(), ends), kv(ends, qkv.end());
  Values y = first.y;
  const auto is_y = [&](const Arena& arena, const auto& o) {
    CHECK(misses(arena.get(o.y, y.size()), y,
                 [&](std::size_t i) { return error * keep + 1.001 * rounding_of<T>(y[i]); }) == 0);
    CHECK(misses(log_sums(c, arena, o.softmax), first.log_sum,
                 [&](std::size_t i) { return error + u * std::fabs(first.log_sum[i]); }) == 0);
  };
  const auto near_d = [&](const Definition& whole, const Values& found) {
    CHECK(misses(found, whole.d_qkv, [&](std::size_t i) {
            return error * whole.sizes[i] + whole.slack[i] + 1.001 * rounding_of<T>(whole.d_qkv[i]);
          }) == 0);
  };
  const auto stored = [&] {
    for (double& value : y) value = number(rounded<T>(value));
    return Definition(c, qkv, d_y, y);
  };
  if (s.crosses()) {
    by_definition(
        room,
        [&](Arena& arena) {
          op::CrossAttention<T> o{};
          o.q = arena.put<T>(q), o.kv = arena.put<T>(kv), o.y = arena.room<T>(q.size());
          o.softmax = arena.room<op::SoftmaxRow<S>>(c.rows()), o.shape = s,
          o.drop = arena.drop(c.threshold, stream, random_numbers);
          return within(arena, o, c);
        },
        [&](const Arena& arena, const auto& o) { is_y(arena, o.whole); });
    const Definition whole = stored();
    by_definition(
        room,
        [&](Arena& arena) {
          op::CrossAttentionBackward<T> o{};
          o.q = arena.put<T>(q), o.kv = arena.put<T>(kv), o.y = arena.put<T>(y), o.d_y = arena.put<T>(d_y);
          o.d_q = arena.room<T>(q.size()), o.d_kv = arena.room<T>(kv.size());
          o.softmax = put_softmax<S>(arena, first.softmax), o.row_dot = arena.room<S>(c.rows());
          o.shape = s, o.drop = arena.drop(c.threshold, stream, random_numbers);
          return within(arena, o, c);
        },
        [&](const Arena& arena, const auto& o) { near_d(whole, joined(arena, o.whole.d_q, o.whole.d_kv, c)); });
  } else if (c.bias.empty()) {
    by_definition(
        room, [&](Arena& arena) { return within(arena, forward<T>(c)(arena), c); },
        [&](const Arena& arena, const auto& o) { is_y(arena, o.whole); });
    const Definition whole = stored();
    by_definition(
        room, [&](Arena& arena) { return within(arena, backward<T>(c, y, first.softmax)(arena), c); },
        [&](const Arena& arena, const auto& o) { near_d(whole, arena.get(o.whole.d_qkv, qkv.size())); });
  } else {
    by_definition(
        room,
        [&](Arena& arena) {
          return within(arena, op::BiasedAttention<T>{forward<T>(c)(arena), arena.put<S>(c.bias)}, c);
        },
        [&](const Arena& arena, const auto& o) { is_y(arena, o.whole.attention); });
    const Definition whole = stored();
    by_definition(
        room,
        [&](Arena& arena) {
          op::BiasedAttentionBackward<T> o{backward<T>(c, y, first.softmax)(arena), arena.put<S>(c.bias)};
          o.d_bias = arena.room<S>(whole.d_bias.size());
          return within(arena, o, c);
        },
        [&](const Arena& arena, const auto& o) {
          near_d(whole, arena.get(o.whole.backward.d_qkv, qkv.size()));
          CHECK(misses(arena.get(o.whole.d_bias, whole.d_bias.size()), whole.d_bias,
                       [&](std::size_t i) { return error * whole.bias_sizes[i] + whole.bias_slack[i]; }) == 0);
        });
  }
}

/// batch, length, heads, width, key heads, length of the other text
Case ended(op::AttentionShape shape, std::vector<std::int32_t> lengths, std::uint32_t threshold,
           bool is_biased = false) {
  Case c{shape, threshold};
  c.lengths = std::move(lengths);
  if (is_biased) c.bias = values<float>(shape.heads * shape.distances(), 1, 3);
  return c;
}

}  // namespace

/// Ends in the first tile, at its end, in the second one, at the last key; one key alone.
TEMPLATE_TEST_CASE("attention to keys that end is its definition, and so is its gradient", "", double, float) {
  using T = TestType;
  for (const bool is_biased : {false, true}) {
    is_its_definition<T>(ended({3, 9, 2, 5, false}, {9, 4, 1}, 6554, is_biased));
    is_its_definition<T>(ended({2, 135, 2, 4, false, 1}, {70, 129}, 6554, is_biased));
    is_its_definition<T>(ended({9, 35, 2, 3, false}, {35, 1, 32, 33, 2, 35, 31, 20, 7}, 0, is_biased));  // one pass
  }
  is_its_definition<T>(ended({2, 5, 4, 3, false, 2, 131}, {64, 130}, 6554));
  is_its_definition<T>(ended({1, 4, 2, 300, false, 1, 6}, {2}, 0));  // a head in pieces
}

TEST_CASE("a text ends behind its last token that is no padding") {
  const std::vector<std::int32_t> tokens{3, 0, 5, 0, 0, 0, 0, 0, 7, 7, 7, 7};
  by_definition(
      1024,
      [&](Arena& arena) {
        const auto from = put_integers(arena, tokens);
        return op::CountTokens{from, arena.room<std::int32_t>(3), 3, 4, 0};
      },
      [&](const Arena& arena, const auto& o) { CHECK(arena.get(o.lengths, 3) == Values{3, 1, 4}); });
}
// SPDX-License-Identifier: Apache-2.0
