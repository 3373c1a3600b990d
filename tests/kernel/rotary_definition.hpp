// tests/kernel/rotary_definition.hpp — the definition of rotary position embeddings.
#pragma once

#include "../engine/cpu/arena.hpp"

#include <regimen/core/operation.hpp>

#include <cmath>
#include <cstddef>

namespace test {

namespace op = regimen::op;
using regimen::statistic_t;

/// Heads of a pair, of more than a register and of the widest there are; positions that are multiples of nothing.
inline constexpr op::AttentionShape turned_shapes[] = {
    {1, 1, 1, 2, false}, {2, 5, 3, 6, false}, {1, 3, 4, 70, false, 2}, {1, 2, 1, 2048, false}};

inline std::size_t elements_of(const op::AttentionShape& s) { return s.batch * s.length * s.all_heads() * s.width; }
inline std::size_t room_of(const op::AttentionShape& s) { return 2 * elements_of(s) * sizeof(double) + 1024; }

template <class T>
auto rotate(const op::AttentionShape& shape, std::size_t first, bool inverse, bool in_place) {
  return [=](Arena& arena) {
    op::Rotate<T> o{};
    o.x = arena.put<T>(values<T>(elements_of(shape))), o.y = in_place ? o.x : arena.room<T>(elements_of(shape));
    o.shape = shape, o.first = first, o.inverse = inverse;
    o.frequencies.theta = 500;
    return o;
  };
}

/// Pair by pair, in long double.
struct Turned {
  Values y, sizes;  // sizes: 0 of what stays, else |x[i]| + |x[i + D/2]|
  double angle_error = 0;

  template <class T>
  Turned(const op::Rotate<T>& o, const Values& x) : y(x), sizes(x.size(), 0.0) {
    const op::AttentionShape& s = o.shape;
    for (std::size_t b = 0; b < s.batch; ++b)
      for (std::size_t t = 0; t < s.length; ++t)
        for (std::size_t head = 0; head < s.heads + s.of_keys(); ++head)
          for (std::size_t i = 0; i < s.width / 2; ++i) {
            const std::size_t low = ((b * s.length + t) * s.all_heads() + head) * s.width + i, high = low + s.width / 2;
            const long double speed = std::pow(static_cast<long double>(o.frequencies.theta),
                                               -2.0L * static_cast<long double>(i) / static_cast<long double>(s.width));
            const long double angle = static_cast<long double>(o.first + t) * speed * (o.inverse ? -1 : 1);
            y[low] = static_cast<double>(x[low] * std::cos(angle) - x[high] * std::sin(angle));
            y[high] = static_cast<double>(x[high] * std::cos(angle) + x[low] * std::sin(angle));
            sizes[low] = sizes[high] = std::fabs(x[low]) + std::fabs(x[high]);
          }
    angle_error = double(o.first + s.length) * 0x1p-51;
  }

  /// A cosine or sine, a product and a sum are each rounded to S; the sum once more to T.
  template <class T>
  double error(std::size_t i) const {
    const double u = regimen::epsilon_of<statistic_t<T>> / 2, computed = sizes[i] * (3.03 * u + angle_error);
    return computed +
           (std::is_same_v<T, statistic_t<T>> || sizes[i] == 0 ? 0 : rounding_of<T>(std::fabs(y[i]) + computed));
  }
};

}  // namespace test
// SPDX-License-Identifier: Apache-2.0
