// tests/kernel/sinusoids.cpp — sinusoidal positions: the numbers of the definition, on the CPU and in every order of
// threads.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/kernel/sinusoids.hpp>

#include <cmath>

using namespace regimen;
using namespace test;

TEMPLATE_TEST_CASE("sinusoidal positions are their definition", "", double, float, bf16) {
  using T = TestType;
  for (const std::size_t columns : Sizes{1, 6, 19})
    for (const std::size_t samples : Sizes{1, 3})
      for (const bool in_place : {false, true}) {
        const bool sines_first = in_place == (samples == 1);
        const std::size_t length = 37, first = columns == 6 ? 131'000 : 0, count = samples * length * columns;
        CAPTURE(columns, samples, in_place, sines_first);
        const Values x = values<T>(count);
        const auto make = [&](Arena& arena) {
          op::AddSinusoids<T> o{};
          o.x = arena.put<T>(x), o.y = in_place ? o.x : arena.room<T>(count);
          o.samples = samples, o.length = length, o.columns = columns, o.first = first;
          o.sines_first = sines_first;
          return o;
        };
        Values y(count), off(count);
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t c = i % columns, t = i / columns % length, sines = (columns + 1) / 2;
          const bool is_sine = sines_first ? c < sines : c % 2 == 0;
          const std::size_t pair = sines_first ? c % sines : c / 2;
          const long double speed = std::pow(10'000.0L, -2 * (long double)(pair) / (long double)(columns)),
                            angle = (long double)(first + t) * speed;
          y[i] = x[i] + double(is_sine ? std::sin(angle) : std::cos(angle));
          // The angle, the sine's rounding and that of the sum.
          off[i] = double(first + t) * 0x1p-51 + epsilon_of<statistic_t<T>> + 1.001 * rounding_of<T>(y[i]);
        }
        by_definition(2 * count * sizeof(T) + 4096, make, [&](const Arena& arena, const auto& o) {
          CHECK(misses(arena.get(o.y, count), y, [&](std::size_t i) { return off[i]; }) == 0);
        });
      }
}
// SPDX-License-Identifier: Apache-2.0
