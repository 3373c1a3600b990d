// tests/kernel/cross_attention.cpp — attention to another text, block by block, beside its definition in fp64 and the CPU
// engine.
#include "against_cpu.hpp"
#include "attention_definition.hpp"

#include <regimen/engine/cpu/attention.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/attention_backward.hpp>

#include <cmath>

using namespace regimen;
using namespace test;

namespace {

/// q, and k and v behind it, as two tensors.
struct Two {
  Values q, kv;
  Two(const Case& c, const Values& all)
      : q(all.begin(), all.begin() + std::ptrdiff_t(c.tokens() * c.channels())),
        kv(all.begin() + std::ptrdiff_t(q.size()), all.end()) {}
};
Values joined(const Arena& arena, const auto& q, const auto& kv, const Two& as) {
  Values all = arena.get(q, as.q.size());
  const Values more = arena.get(kv, as.kv.size());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

template <class T>
auto across(const Case& c, const Two& x) {
  return [=](Arena& arena) {
    op::CrossAttention<T> o{};
    o.q = arena.put<T>(x.q), o.kv = arena.put<T>(x.kv), o.y = arena.room<T>(x.q.size());
    o.softmax = arena.room<op::SoftmaxRow<statistic_t<T>>>(c.rows()), o.shape = c.shape,
    o.drop = arena.drop(c.threshold, stream, random_numbers);
    return o;
  };
}
template <class T>
auto across_backward(const Case& c, const Two& x, const Values& y, const Values& d_y, const Values& softmax) {
  return [=](Arena& arena) {
    op::CrossAttentionBackward<T> o{};
    o.q = arena.put<T>(x.q), o.kv = arena.put<T>(x.kv), o.y = arena.put<T>(y), o.d_y = arena.put<T>(d_y);
    o.d_q = arena.room<T>(x.q.size()), o.d_kv = arena.room<T>(x.kv.size());
    o.softmax = put_softmax<statistic_t<T>>(arena, softmax), o.row_dot = arena.room<statistic_t<T>>(c.rows());
    o.shape = c.shape, o.drop = arena.drop(c.threshold, stream, random_numbers);
    return o;
  };
}

/// The tolerances of tests/kernel/attention.cpp.
template <class T>
void is_its_definition(const Case& c) {
  CAPTURE(c.shape.batch, c.shape.length, c.shape.key_length, c.shape.heads, c.shape.width, c.shape.key_heads,
          c.threshold, name_of<T>);
  const double u = epsilon_of<statistic_t<T>> / 2, error = roundings(c.shape) * u,
               keep = 65536.0 / (65536.0 - c.threshold);
  const Values all = values<T>(c.qkv()), d_y = values<T>(c.tokens() * c.channels(), 1, 2);
  const Two x(c, all);
  const Definition first(c, all, d_y, {});
  Values y = first.y;
  const auto near_y = [&](std::size_t i) { return error * keep + 1.001 * rounding_of<T>(y[i]); };
  const auto near_sum = [&](std::size_t i) { return error + u * std::fabs(first.log_sum[i]); };
  by_definition(c.room(), across<T>(c, x), [&](const Arena& arena, const auto& o) {
    CHECK(misses(arena.get(o.y, y.size()), y, near_y) == 0);
    CHECK(misses(log_sums(c, arena, o.softmax), first.log_sum, near_sum) == 0);
  });
  for (double& value : y) value = number(rounded<T>(value));
  const Definition whole(c, all, d_y, y);
  const auto near_d = [&](std::size_t i) {
    return error * whole.sizes[i] + whole.slack[i] + 1.001 * rounding_of<T>(whole.d_qkv[i]);
  };
  by_definition(c.room(), across_backward<T>(c, x, y, d_y, first.softmax), [&](const Arena& arena, const auto& o) {
    CHECK(misses(joined(arena, o.d_q, o.d_kv, x), whole.d_qkv, near_d) == 0);
  });
}

/// batch, length, heads, width, key heads, length of the other text
constexpr op::AttentionShape shape(std::size_t batch, std::size_t length, std::size_t heads, std::size_t width,
                                   std::size_t key_heads, std::size_t keys) {
  return {batch, length, heads, width, false, key_heads, keys};
}

}  // namespace

/// One key, more keys than queries and fewer, of several tiles of 32 (fp64 on the CPU), 64 or 128, and of one.
TEMPLATE_TEST_CASE("attention to another text and its gradient are their definition", "", double, float, bf16) {
  for (const std::uint32_t threshold : {0u, 6554u}) {
    is_its_definition<TestType>({shape(2, 5, 3, 4, 0, 1), threshold});
    is_its_definition<TestType>({shape(2, 7, 4, 5, 2, 131), threshold});
    is_its_definition<TestType>({shape(1, 130, 2, 8, 0, 9), threshold});
    is_its_definition<TestType>({shape(9, 3, 2, 3, 0, 70), threshold});  // many heads: one pass on the CPU
  }
  is_its_definition<TestType>({shape(1, 4, 2, 300, 1, 6), 6554});  // a head in pieces
}

TEST_CASE("a missing barrier is told, of each launch") {
  const Case c{shape(1, 4, 2, 40, 1, 9), 6554};
  const Two x(c, values<float>(c.qkv()));
  const Values d_y = values<float>(x.q.size(), 1, 2);
  const auto is_told = [](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      INFO(text);
      CHECK((text.find("shared memory that was written") != std::string::npos ||
             text.find("a barrier between two threads") != std::string::npos));
    }
  };
  const auto back = across_backward<float>(c, x, d_y, d_y, Values(2 * c.rows(), 0.0));
  const auto d_of = [&](const Arena& arena, const auto& o) { return joined(arena, o.d_q, o.d_kv, x); };
  is_told(told<WithoutBarriers>(c.room(), across<float>(c, x),
                                [&](const Arena& arena, const auto& o) { return arena.get(o.y, x.q.size()); }));
  is_told(told<WithoutBarriers, 1>(c.room(), back, d_of));
  is_told(told<WithoutBarriers, 2>(c.room(), back, d_of));
}
// SPDX-License-Identifier: Apache-2.0
