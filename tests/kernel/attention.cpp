// tests/kernel/attention.cpp — attention and its gradient, block by block, beside their definition in fp64 and the CPU
// engine.
#include "against_cpu.hpp"
#include "attention_definition.hpp"

#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/attention_kept.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/attention_backward.hpp>

#include <cmath>
#include <limits>

using namespace regimen;
using namespace test;

namespace {

template <class T>
void is_its_definition(const Case& c) {
  CAPTURE(c.shape.batch, c.shape.length, c.shape.heads, c.shape.width, c.shape.causal, c.threshold, name_of<T>);
  const double u = epsilon_of<statistic_t<T>> / 2, error = roundings(c.shape) * u,
               keep = 65536.0 / (65536.0 - c.threshold);
  const Values qkv = values<T>(c.qkv()), d_y = values<T>(c.tokens() * c.channels(), 1, 2);
  const Definition first(c, qkv, d_y, {});
  Values y = first.y, log_sum = first.log_sum;
  const auto near_y = [&](std::size_t i) { return error * keep + 1.001 * rounding_of<T>(y[i]); };
  beside_the_cpu(c.room(), forward<T>(c), [&](const Arena& arena, const auto& o, const Arena& expected) {
    const Values own = arena.get(o.y, y.size()), sums = log_sums(c, arena, o.softmax);
    CHECK(misses(own, y, near_y) == 0);
    CHECK(misses(sums, log_sum, [&](std::size_t i) { return error + u * std::fabs(log_sum[i]); }) == 0);
    CHECK(misses(own, expected.get(o.y, y.size()), [&](std::size_t i) { return 2 * near_y(i); }) == 0);
    CHECK(misses(sums, log_sums(c, expected, o.softmax),
                 [&](std::size_t i) { return 2 * (error + u * std::fabs(log_sum[i])); }) == 0);
  });
  for (double& value : y) value = number(rounded<T>(value));
  const Definition all(c, qkv, d_y, y);
  const auto near_d = [&](std::size_t i) {
    return error * all.sizes[i] + all.slack[i] + 1.001 * rounding_of<T>(all.d_qkv[i]);
  };
  const auto near = [&](const Arena& arena, View<T> d_qkv, const Arena& expected) {
    const Values own = arena.get(d_qkv, qkv.size());
    CHECK(misses(own, all.d_qkv, near_d) == 0);
    CHECK(misses(own, expected.get(d_qkv, qkv.size()), [&](std::size_t i) { return 2 * near_d(i); }) == 0);
  };
  const auto make = backward<T>(c, y, first.softmax);
  if (c.shape.group() == 1)
    beside_the_cpu(c.room(), make,
                   [&](const Arena& arena, const auto& o, const Arena& expected) { near(arena, o.d_qkv, expected); });
  // Its kernels are right where nothing is shared, too.
  beside_the_cpu(
      c.room(), [&](Arena& arena) { return op::SharedAttentionBackward<T>{make(arena)}; },
      [&](const Arena& arena, const auto& o, const Arena& expected) { near(arena, o.backward.d_qkv, expected); });
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
TEMPLATE_TEST_CASE("heads that share keys attend to them, and their gradients are summed", "", double, float, bf16) {
  for (const bool causal : {false, true})
    for (const std::uint32_t threshold : {0u, 6554u}) {
      is_its_definition<TestType>({{2, 17, 6, 5, causal, 2}, threshold});
      is_its_definition<TestType>({{1, 130, 2, 16, causal, 1}, threshold});
    }
}
TEST_CASE("three tiles, and the widest head") {
  is_its_definition<double>({{1, 261, 1, 3, true}, 30000});
  is_its_definition<double>({{2, 136, 3, 3, false}, 30000});  // rows of whole counters, tiles of eights of them
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
      const std::size_t window = 133, heads = 4, batch = 2, key_heads = seen == 7 ? 2 : 4, all = heads + 2 * key_heads,
                        kept = batch * key_heads * window * width;
      CAPTURE(width, seen, key_heads);
      const auto keep = [&](Arena& arena) {
        op::KeepKeys<T> o{};
        o.qkv = arena.put<T>(values<T>(batch * seen * all * width));
        o.keys = arena.put<T>(values<T>(kept, 1, 2)), o.values = arena.put<T>(values<T>(kept, 1, 3));
        o.shape = {batch, seen, heads, width, true, key_heads}, o.first = 4, o.window = window;
        return o;
      };
      const std::size_t room = (batch * seen * all * width + 2 * kept) * sizeof(T) + (std::size_t{1} << 14);
      is_the_cpu(room, keep, [&](const Arena& arena, const auto& o) { return arena.get(o.keys, kept); });
      is_the_cpu(room, keep, [&](const Arena& arena, const auto& o) { return arena.get(o.values, kept); });
      const auto attend = [&](Arena& arena) {
        op::AttendKept<T> o{};
        o.qkv = arena.put<T>(values<T>(batch * all * width)), o.y = arena.room<T>(batch * heads * width);
        o.keys = arena.put<T>(values<T>(kept, 1, 2)), o.values = arena.put<T>(values<T>(kept, 1, 3));
        o.shape = {batch, 1, heads, width, true, key_heads}, o.seen = seen, o.window = window;
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
  is_told(told<WithoutBarriers, 1>(c.room(), backward<float>(c, all.y, all.softmax), d_of));
  is_told(told<WithoutBarriers, 2>(c.room(), backward<float>(c, all.y, all.softmax), d_of));
  for (const std::string& text : told<WithoutAThread>(c.room(), forward<float>(c), y_of))
    CHECK_THAT(text, Catch::Contains("has left the kernel"));
}
// SPDX-License-Identifier: Apache-2.0
