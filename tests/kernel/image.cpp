// tests/kernel/image.cpp — the squares of images: the very bits of the CPU engine, in every order of threads.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/body.hpp>
#include <regimen/engine/cpu/image.hpp>
#include <regimen/kernel/image.hpp>

using namespace regimen;
using namespace test;

TEMPLATE_TEST_CASE("squares of images are the CPU's", "", float, double, bf16) {
  using T = TestType;
  constexpr std::size_t bytes = std::size_t{1} << 19;
  constexpr op::Squares shapes[] = {{1, 1, 1, 1, 1}, {2, 3, 4, 5, 2}, {3, 2, 1, 17, 3}};
  for (const op::Squares& q : shapes) {
    CAPTURE(q.height, q.width, q.columns, q.size);
    const std::size_t small = q.count() * q.columns, large = small * q.size * q.size;
    const auto y_small = [&](const Arena& arena, const auto& o) { return arena.get(o.y, small); };
    is_the_cpu(
        bytes,
        [&](Arena& arena) { return op::SumSquares<T>{arena.put<T>(values<T>(large)), arena.room<T>(small), q, 0.25}; },
        y_small);
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          return op::SpreadSquares<T>{arena.put<T>(values<T>(small)), arena.room<T>(large), q, 0.25};
        },
        [&](const Arena& arena, const auto& o) { return arena.get(o.y, large); });
    is_the_cpu(
        bytes,
        [&](Arena& arena) { return op::MaxSquares<T>{arena.put<T>(integers<T>(large)), arena.room<T>(small), q}; },
        y_small);
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<T>(integers<T>(large)), d_y = arena.put<T>(values<T>(small, 3, 2));
          return op::MaxSquaresBackward<T>{x, d_y, arena.room<T>(large), q};
        },
        [&](const Arena& arena, const auto& o) { return arena.get(o.d_x, large); });
  }
}
// SPDX-License-Identifier: Apache-2.0
