// tests/engine/cpu/attention_kept.cpp — attention to kept keys and values, against its definition in fp64.
#include "arena.hpp"

#include <regimen/engine/cpu/attention_kept.hpp>
#include <regimen/engine/cpu/execute.hpp>

#include <algorithm>

using namespace regimen;
using namespace test;

namespace {

struct Case {
  std::size_t batch, heads, width, seen, window, key_heads = 0;
};

/// `seen` positions are kept one after the other, or all at once; the last one's query attends to them. What lies
/// beyond them in keys and values stays NaN, and so does whatever reads it.
template <class T>
void attends_to_what_is_kept(const Case& c, bool at_once) {
  CAPTURE(c.batch, c.heads, c.width, c.seen, at_once, name_of<T>);
  using S = statistic_t<T>;
  const op::AttentionShape one{c.batch, 1, c.heads, c.width, true, c.key_heads};
  const std::size_t channels = c.heads * c.width, row_size = one.all_heads() * c.width,
                    kept = c.batch * c.window * one.of_keys() * c.width;
  Arena arena((c.batch * c.seen * row_size + 2 * kept + c.batch * channels * 4) * sizeof(T) + (std::size_t{1} << 12));
  const Values all = values<T>(c.batch * c.seen * row_size, 1, 5);  // (B,T,H+2K,D)
  const View<T> keys = arena.room<T>(kept), values_kept = arena.room<T>(kept), y = arena.room<T>(c.batch * channels);
  const auto at = [&](std::size_t b, std::size_t t, std::size_t part, std::size_t h) {
    return ((b * c.seen + t) * one.all_heads() + one.place(h, part)) * c.width;
  };
  const auto row = [&](std::size_t t) {  // (B,1,H+2K,D)
    Values values(c.batch * row_size);
    for (std::size_t b = 0; b < c.batch; ++b)
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at(b, t, 0, 0)), row_size,
                  values.begin() + static_cast<std::ptrdiff_t>(b * row_size));
    return values;
  };
  const View<T> last = arena.put<T>(row(c.seen - 1));
  if (at_once) {
    const op::AttentionShape shape{c.batch, c.seen, c.heads, c.width, true, c.key_heads};
    cpu::execute(
        op::KeepKeys<T>{
            .qkv = arena.put<T>(all), .keys = keys, .values = values_kept, .shape = shape, .window = c.window},
        arena.memory());
  } else {
    T* const qkv = arena.memory()(last);
    for (std::size_t t = 0; t < c.seen; ++t) {
      const Values values = row(t);
      for (std::size_t i = 0; i < values.size(); ++i) qkv[i] = rounded<T>(values[i]);
      cpu::execute(
          op::KeepKeys<T>{
              .qkv = last, .keys = keys, .values = values_kept, .shape = one, .first = t, .window = c.window},
          arena.memory());
    }
  }
  cpu::execute(
      op::AttendKept<T>{
          .qkv = last, .keys = keys, .values = values_kept, .y = y, .shape = one, .seen = c.seen, .window = c.window},
      arena.memory());

  Values expected(c.batch * channels);
  for (std::size_t b = 0; b < c.batch; ++b)
    for (std::size_t h = 0; h < c.heads; ++h) {
      Values p(c.seen);
      double total = 0;
      for (std::size_t u = 0; u < c.seen; ++u) {
        double score = 0;
        for (std::size_t d = 0; d < c.width; ++d) score += all[at(b, c.seen - 1, 0, h) + d] * all[at(b, u, 1, h) + d];
        total += p[u] = std::exp(score / std::sqrt(double(c.width)));
      }
      for (std::size_t u = 0; u < c.seen; ++u)
        for (std::size_t d = 0; d < c.width; ++d)
          expected[(b * c.heads + h) * c.width + d] += p[u] / total * all[at(b, u, 2, h) + d];
    }
  // As for op::Attention (tests/engine/cpu/attention.cpp), with |q|, |k|, |v| <= 1 and u = eps_S / 2: a score is off by
  // (D + 3) u √D, its difference to the maximum by 3 u (√D + log T) more; exp adds 4 u, a running maximum 4 u for each
  // tile of 64 keys; numerator and denominator are sums of T terms, four at a time in a register or one by one. Then
  // one rounding to T.
  const double u = epsilon_of<S> / 2, width = double(c.width), root = std::sqrt(width), length = double(c.seen);
  const double r = ((width + 3) * root + 3 * (root + std::log(length) + 1) + 4 + 4 * (length / 64 + 1)) * u * 1.01;
  const double error = 2 * r + 2 * (length + 4) * u * 1.01;
  CHECK(misses(arena.get(y, expected.size()), expected, [&](std::size_t i) {
          return error + (std::is_same_v<T, S> ? 0 : rounding_of<T>(std::fabs(expected[i]) + error));
        }) == 0);
  std::size_t touched = 0;  // beyond what is kept
  const Values after = arena.get(keys, kept), values_after = arena.get(values_kept, kept);
  for (std::size_t head = 0; head < c.batch * one.of_keys(); ++head)
    for (std::size_t t = c.seen; t < c.window; ++t)
      for (std::size_t d = 0; d < c.width; ++d) {
        const std::size_t i = (head * c.window + t) * c.width + d;
        touched += !std::isnan(after[i]) || !std::isnan(values_after[i]);
      }
  CHECK(touched == 0);
  CHECK(arena.guards_hold());
}

}  // namespace

TEMPLATE_TEST_CASE("a position attends to what is kept, of any length and width", "", float, double, bf16, fp16) {
  for (const bool at_once : {false, true}) {
    for (const std::size_t seen : Sizes{1, 3, 4, 63, 64, 65, 130})
      attends_to_what_is_kept<TestType>({1, 2, 16, seen, seen + 5}, at_once);
    for (const std::size_t width : Sizes{1, 3, 17, 64, 272, 2048})
      attends_to_what_is_kept<TestType>({2, 1, width, 9, 11}, at_once);
    attends_to_what_is_kept<TestType>({2, 3, 40, 300, 300}, at_once);  // on several cores
    attends_to_what_is_kept<TestType>({2, 6, 40, 300, 300, 2}, at_once);
    attends_to_what_is_kept<TestType>({1, 3, 17, 9, 11, 1}, at_once);
  }
}

TEST_CASE("a NaN in a kept key or in the query stays, and no number of threads changes a bit") {
  for (const bool in_query : {false, true}) {
    Arena arena;
    Values qkv = values<float>(3 * 8, 1, 5), kept = values<float>(70 * 8, 1, 6);
    (in_query ? qkv[7] : kept[66 * 8 + 3]) = std::nan("");
    const op::AttendKept<float> o{arena.put<float>(qkv),
                                  arena.put<float>(kept),
                                  arena.put<float>(values<float>(70 * 8, 1, 7)),
                                  arena.room<float>(8),
                                  {1, 1, 1, 8, true},
                                  70,
                                  70};
    cpu::execute(o, arena.memory());
    for (const double y : arena.get(o.y, 8)) CHECK(std::isnan(y));
  }
  CHECK(same_for_any_threads([](Arena& arena) {
    const op::AttendKept<bf16> o{arena.put<bf16>(values<bf16>(3 * 96, 1, 5)),
                                 arena.put<bf16>(values<bf16>(900 * 96, 1, 6)),
                                 arena.put<bf16>(values<bf16>(900 * 96, 1, 7)),
                                 arena.room<bf16>(96),
                                 {1, 1, 3, 32, true},
                                 900,
                                 900};
    cpu::execute(o, arena.memory());
  }));
}
// SPDX-License-Identifier: Apache-2.0
