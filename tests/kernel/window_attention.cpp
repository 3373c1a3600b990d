// tests/kernel/window_attention.cpp — attention within a window, on the CPU and block by block, by its definition in fp64.
#include "against_cpu.hpp"
#include "attention_definition.hpp"

#include <regimen/engine/cpu/attention.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/attention_backward.hpp>

#include <cmath>

using namespace regimen;
using namespace test;

namespace {

/// The tolerances of tests/kernel/attention.cpp.
template <class T>
void is_its_definition(std::size_t length, std::size_t window, std::size_t heads, std::size_t width,
                       std::size_t key_heads, std::uint32_t threshold, std::size_t batch = 1) {
  Case c{{batch, length, heads, width, true, key_heads}, threshold};
  c.shape.window = window;
  CAPTURE(length, window, heads, width, key_heads, threshold, batch, name_of<T>);
  const double u = epsilon_of<statistic_t<T>> / 2, error = roundings(c.shape) * u,
               keep = 65536.0 / (65536.0 - c.threshold);
  const Values qkv = values<T>(c.qkv()), d_y = values<T>(c.tokens() * c.channels(), 1, 2);
  const Definition first(c, qkv, d_y, {});
  Values y = first.y;
  by_definition(
      c.room(), [&](Arena& arena) { return op::WindowAttention<T>{forward<T>(c)(arena)}; },
      [&](const Arena& arena, const auto& o) {
        CHECK(misses(arena.get(o.attention.y, y.size()), y,
                     [&](std::size_t i) { return error * keep + 1.001 * rounding_of<T>(y[i]); }) == 0);
        CHECK(misses(log_sums(c, arena, o.attention.softmax), first.log_sum,
                     [&](std::size_t i) { return error + u * std::fabs(first.log_sum[i]); }) == 0);
      });
  for (double& value : y) value = number(rounded<T>(value));
  const Definition whole(c, qkv, d_y, y);
  by_definition(
      c.room(), [&](Arena& arena) { return op::WindowAttentionBackward<T>{backward<T>(c, y, first.softmax)(arena)}; },
      [&](const Arena& arena, const auto& o) {
        CHECK(misses(arena.get(o.backward.d_qkv, qkv.size()), whole.d_qkv, [&](std::size_t i) {
                return error * whole.sizes[i] + whole.slack[i] + 1.001 * rounding_of<T>(whole.d_qkv[i]);
              }) == 0);
      });
}

}  // namespace

/// Windows that end within a tile of 32 keys (fp64 on the CPU), 64 or 128, at its end, behind it; of one position, of all
/// of them, of more.
TEMPLATE_TEST_CASE("attention within a window is its definition", "", double, float, bf16) {
  using T = TestType;
  for (const std::size_t window : Sizes{1, 2, 9, 30}) is_its_definition<T>(17, window, 2, 5, 0, 6554);
  for (const std::size_t window : Sizes{3, 32, 33, 65, 128, 200}) {
    is_its_definition<T>(201, window, 1, 4, 0, 0);
    is_its_definition<T>(137, window, 2, 3, 1, 6554);
  }
  is_its_definition<T>(70, 20, 2, 3, 0, 0, 9);  // many heads: one pass on the CPU
  is_its_definition<T>(90, 35, 1, 300, 0, 0);   // a head in pieces
}
// SPDX-License-Identifier: Apache-2.0
