// regimen/layer/cast.hpp — changes the element type or the shape of a tensor.
#pragma once

#include <regimen/layer/layer.hpp>

#include <type_traits>

namespace regimen {

namespace detail {

/// y = x in element type To; the walker inserts it where the element type changes.
template <class To>
struct Cast final {
  static constexpr const char* name = "cast";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using From = typename X::Element;
    using Output = Value<To, typename X::Shape>;

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::Cast<From, To>{{call.x}, {call.y}, walk.batch * X::size});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) walk.run(op::Cast<To, From>{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};

}  // namespace detail

/// y = x as one row per sample                        x (B,...), y (B, product of the rest)
///
/// cost     saves nothing; in place if nothing reads x later, else one copy
struct Flatten final {
  static constexpr const char* name = "flatten";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = Value<T, Shape<X::size>>;
    static constexpr bool in_place = true;

    static constexpr void forward(auto& walk, const auto& call) {
      if (call.x != call.y) walk.run(op::Copy<T>{{call.x}, {call.y}, walk.batch * X::size});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x() && call.d_x != call.d_y) walk.run(op::Copy<T>{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
