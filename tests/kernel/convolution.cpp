// tests/kernel/convolution.cpp — convolutions: the CPU's numbers where sums are exact, in every order of threads.
#include "../engine/cpu/convolution_definition.hpp"
#include "against_cpu.hpp"

#include <regimen/engine/cpu/convolution.hpp>
#include <regimen/engine/cpu/image.hpp>
#include <regimen/kernel/convolution.hpp>

using namespace regimen;
using namespace test;

TEMPLATE_TEST_CASE("convolutions of integers are the CPU's, and what their definition gives", "", float, double, bf16) {
  using T = TestType;
  using G = statistic_t<T>;
  constexpr std::size_t bytes = std::size_t{1} << 20;
  for (const op::Convolution& o : convolutions) {
    CAPTURE(o.height, o.width, o.channels, o.out_channels, o.window_height, o.window_width, o.stride, o.padding,
            o.dilation, o.groups);
    const std::size_t inputs = o.pixels() * o.channels, outputs = o.positions() * o.out_channels;
    // Sums below 2^24: of 966 positions at most, or 9 · 101 outputs, each term at most 8 · 8.
    const Values x = integers<T>(inputs, 1), w = integers<T>(o.weights(), 2), d_y = integers<T>(outputs, 3),
                 bias = integers<T>(o.out_channels, 4), before = integers<G>(o.weights(), 5);
    OfConvolution wanted = defined(o, x, w, d_y);
    for (std::size_t i = 0; i < outputs; ++i) wanted.y[i] = number(rounded<T>(wanted.y[i] + bias[i % o.out_channels]));
    for (double& value : wanted.d_x) value = number(rounded<T>(value));
    for (std::size_t i = 0; i < before.size(); ++i) wanted.d_weight[i] += before[i];
    const auto is_defined = [&](const Values& own, const Values& whole) {
      CHECK((own == whole));
      return own;
    };
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto from = arena.put<T>(x), weight = arena.put<T>(w);
          return op::Conv<T>{from, weight, arena.room<T>(outputs), o, arena.put<T>(bias)};
        },
        [&](const Arena& arena, const auto& done) { return is_defined(arena.get(done.y, outputs), wanted.y); });
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto from = arena.put<T>(d_y), weight = arena.put<T>(w);
          return op::ConvInput<T>{from, weight, arena.room<T>(inputs), o};
        },
        [&](const Arena& arena, const auto& done) { return is_defined(arena.get(done.d_x, inputs), wanted.d_x); });
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto from = arena.put<T>(x), of_y = arena.put<T>(d_y);
          return op::ConvWeight<T, G>{from, of_y, arena.put<G>(before), o, true};
        },
        [&](const Arena& arena, const auto& done) {
          return is_defined(arena.get(done.d_weight, o.weights()), wanted.d_weight);
        });
  }
}

/// Signed lines, and nothing of Convolution but its numbers.
TEMPLATE_TEST_CASE("lines of windows lie beside each other, and go back", "", float, double, bf16) {
  using T = TestType;
  constexpr op::Convolution shapes[] = {
      {.samples = 2, .height = 5, .width = 3, .channels = 6, .out_channels = 6, .window_height = 3, .padding = 1},
      {.samples = 3,
       .height = 7,
       .width = 2,
       .channels = 33,
       .out_channels = 33,
       .window_height = 3,
       .stride = 2,
       .padding = 3,
       .dilation = 2,
       .groups = 3},
      {.samples = 1, .height = 1, .width = 1, .channels = 1, .out_channels = 1},
      {.samples = 0, .height = 5, .width = 3, .channels = 6, .out_channels = 6, .window_height = 2}};
  for (const op::Convolution& o : shapes) {
    CAPTURE(o.height, o.window_height, o.stride, o.padding, o.dilation, o.groups);
    const std::size_t lines = (o.height + 2 * o.padding - o.dilation * (o.window_height - 1) - 1) / o.stride + 1,
                      channels = o.channels / o.groups, few = o.samples * o.height * o.width * o.channels,
                      many = o.samples * lines * o.width * o.window_height * o.channels;
    const Values x = integers<T>(few, 1), d_y = integers<T>(many, 2);
    Values y(many), d_x(few);
    std::size_t to = 0;
    for (std::size_t b = 0; b < o.samples; ++b)
      for (std::size_t i = 0; i < lines; ++i)
        for (std::size_t j = 0; j < o.width; ++j)
          for (std::size_t g = 0; g < o.groups; ++g)
            for (std::size_t r = 0; r < o.window_height; ++r)
              for (std::size_t c = 0; c < channels; ++c, ++to) {
                const long line = long(i * o.stride + r * o.dilation) - long(o.padding);
                if (line < 0 || line >= long(o.height)) continue;
                const std::size_t from =
                    ((b * o.height + std::size_t(line)) * o.width + j) * o.channels + g * channels + c;
                y[to] = x[from], d_x[from] += d_y[to];
              }
    by_definition(
        std::size_t{1} << 18,
        [&](Arena& arena) {
          const auto from = arena.put<T>(x);
          return op::Unfold<T>{from, arena.room<T>(many), o};
        },
        [&](const Arena& arena, const auto& done) { CHECK((arena.get(done.y, many) == y)); });
    by_definition(
        std::size_t{1} << 18,
        [&](Arena& arena) {
          const auto from = arena.put<T>(d_y);
          return op::Fold<T>{from, arena.room<T>(few), o};
        },
        [&](const Arena& arena, const auto& done) { CHECK((arena.get(done.d_x, few) == d_x)); });
    CHECK(op::Unfold<T>{{0}, {0}, o}.cost().bytes == double(few + many) * sizeof(T));
    CHECK(op::Fold<T>{{0}, {0}, o}.cost().bytes == double(few + many) * sizeof(T));
  }
}

TEST_CASE("a missing thread of a convolution's gradient is told, and so are missing barriers") {
  constexpr op::Convolution o = convolutions.back();
  const std::size_t inputs = o.pixels() * o.channels, outputs = o.positions() * o.out_channels;
  const auto make = [&](Arena& arena) {
    const auto x = arena.put<float>(values<float>(inputs, 3, 1)), d_y = arena.put<float>(values<float>(outputs, 3, 2));
    return op::ConvWeight<float, float>{x, d_y, arena.room<float>(o.weights()), o};
  };
  const auto get = [&](const Arena& arena, const auto& done) { return arena.get(done.d_weight, o.weights()); };
  for (const std::string& words : told<WithoutAThread>(std::size_t{1} << 20, make, get)) CHECK(words != "nothing");
  for (const std::string& words : told<WithoutBarriers, 1>(std::size_t{1} << 20, make, get)) CHECK(words != "nothing");
}
// SPDX-License-Identifier: Apache-2.0
