// tests/engine/cpu/image.cpp — the squares of images.
#include "arena.hpp"

#include <regimen/engine/cpu/body.hpp>
#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/image.hpp>
#include <regimen/kernel/image.hpp>

#include <cmath>
#include <limits>

using namespace regimen;
using namespace test;

namespace {

/// The elements of square (s, i, j) and channel c in the large image, row by row.
template <class Body>
void for_pixels(const op::Squares& q, std::size_t s, std::size_t i, std::size_t j, std::size_t c, const Body& body) {
  for (std::size_t r = 0; r < q.size; ++r)
    for (std::size_t t = 0; t < q.size; ++t)
      body((((s * q.height + i) * q.size + r) * q.width * q.size + j * q.size + t) * q.columns + c);
}
template <class Body>
void for_squares(const op::Squares& q, const Body& body) {
  std::size_t square = 0;
  for (std::size_t s = 0; s < q.samples; ++s)
    for (std::size_t i = 0; i < q.height; ++i)
      for (std::size_t j = 0; j < q.width; ++j)
        for (std::size_t c = 0; c < q.columns; ++c) body(square++, s, i, j, c);
}
constexpr op::Squares shapes[] = {{1, 1, 1, 1, 1}, {2, 3, 4, 5, 2}, {3, 2, 1, 17, 3}, {5, 8, 8, 33, 2}};

}  // namespace

TEMPLATE_TEST_CASE("squares are summed, spread and scaled by their definitions", "", float, double, bf16, fp16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const op::Squares& q : shapes) {
    CAPTURE(q.height, q.width, q.columns, q.size);
    const std::size_t small = q.count() * q.columns, large = small * q.size * q.size;
    Arena arena(std::size_t{1} << 23);
    const Values x = values<T>(large, 3, 1), d = values<T>(small, 3, 2);
    const op::SumSquares<T> sum{arena.put<T>(x), arena.room<T>(small), q, 0.25};
    const op::SpreadSquares<T> spread{arena.put<T>(d), arena.room<T>(large), q, 0.25};
    cpu::execute(sum, arena.memory());
    cpu::execute(spread, arena.memory());
    Values y(small), back(large);
    for_squares(q, [&](std::size_t square, std::size_t s, std::size_t i, std::size_t j, std::size_t c) {
      S total = 0;
      for_pixels(q, s, i, j, c, [&](std::size_t at) {
        total += static_cast<S>(x[at]);
        back[at] = number(rounded<T>(number(static_cast<S>(d[square]) * S(0.25))));
      });
      y[square] = number(rounded<T>(number(total * S(0.25))));
    });
    CHECK(arena.get(sum.y, small) == y);
    CHECK(arena.get(spread.y, large) == back);
    CHECK(arena.guards_hold());
  }
}

TEMPLATE_TEST_CASE("the largest pixel is found, and the gradient goes to it alone", "", float, double, bf16, fp16) {
  using T = TestType;
  for (const op::Squares& q : shapes) {
    CAPTURE(q.height, q.width, q.columns, q.size);
    const std::size_t small = q.count() * q.columns, large = small * q.size * q.size;
    Arena arena(std::size_t{1} << 23);
    Values x = values<T>(large, 3, 1);
    for (double& value : x) value = std::round(value);  // so that some are equal
    const Values d = values<T>(small, 3, 2);
    const op::MaxSquares<T> most{arena.put<T>(x), arena.room<T>(small), q};
    const op::MaxSquaresBackward<T> backward{most.x, arena.put<T>(d), arena.room<T>(large), q};
    cpu::execute(most, arena.memory());
    cpu::execute(backward, arena.memory());
    Values y(small), d_x(large, 0.0);
    for_squares(q, [&](std::size_t square, std::size_t s, std::size_t i, std::size_t j, std::size_t c) {
      double largest = -std::numeric_limits<double>::infinity();
      std::size_t chosen = 0;
      for_pixels(q, s, i, j, c, [&](std::size_t at) {
        if (x[at] > largest) largest = x[at], chosen = at;
      });
      y[square] = largest;
      d_x[chosen] = d[square];
    });
    CHECK(arena.get(most.y, small) == y);
    CHECK(arena.get(backward.d_x, large) == d_x);
    CHECK(arena.guards_hold());
  }
}

TEMPLATE_TEST_CASE("a NaN is the largest, wherever it is", "", float, bf16) {
  using T = TestType;
  constexpr op::Squares q{1, 1, 1, 19, 2};
  for (std::size_t pixel = 0; pixel < 4; ++pixel) {
    Arena arena;
    Values x = values<T>(4 * q.columns, 3, 1);
    x[pixel * q.columns + 18] = std::nan("");
    const op::MaxSquares<T> most{arena.put<T>(x), arena.room<T>(q.columns), q};
    const op::MaxSquaresBackward<T> backward{most.x, arena.put<T>(Values(q.columns, 1.0)), arena.room<T>(4 * q.columns),
                                             q};
    cpu::execute(most, arena.memory());
    cpu::execute(backward, arena.memory());
    const Values y = arena.get(most.y, q.columns), d_x = arena.get(backward.d_x, 4 * q.columns);
    CHECK(std::isnan(y[18]));
    CHECK(!std::isnan(y[17]));
    for (std::size_t p = 0; p < 4; ++p) CHECK(d_x[p * q.columns + 18] == (p == pixel ? 1 : 0));
  }
}
// SPDX-License-Identifier: Apache-2.0
