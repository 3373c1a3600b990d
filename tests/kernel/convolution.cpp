// tests/kernel/convolution.cpp — convolutions: the CPU's numbers where sums are exact, in every order of threads.
#include "../engine/cpu/convolution_definition.hpp"
#include "against_cpu.hpp"

#include <regimen/engine/cpu/convolution.hpp>
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
