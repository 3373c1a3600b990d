// tests/kernel/rotary.cpp — rotary position embeddings: the numbers of the definition, in every order of threads.
#include "against_cpu.hpp"
#include "rotary_definition.hpp"

#include <regimen/engine/cpu/rotary.hpp>
#include <regimen/kernel/sinusoids.hpp>

using namespace regimen;
using namespace test;

TEMPLATE_TEST_CASE("a rotation is its definition and the CPU's", "", float, double, bf16) {
  using T = TestType;
  for (const op::AttentionShape& shape : turned_shapes)
    for (const bool inverse : {false, true})
      for (const bool in_place : {false, true}) {
        CAPTURE(shape.length, shape.heads, shape.width, inverse, in_place);
        const auto make = rotate<T>(shape, 131'000, inverse, in_place);
        beside_the_cpu(room_of(shape), make, [&](const Arena& arena, const auto& o, const Arena& cpu) {
          const Turned expected(o, values<T>(elements_of(shape)));
          const auto near = [&](std::size_t i) { return expected.template error<T>(i); };
          CHECK(misses(arena.get(o.y, expected.y.size()), expected.y, near) == 0);
          CHECK(misses(cpu.get(o.y, expected.y.size()), expected.y, near) == 0);
        });
      }
}
// SPDX-License-Identifier: Apache-2.0
