// regimen/layer/cast.hpp — changes the element type or the shape of a tensor.
#pragma once

#include <regimen/layer/layer.hpp>

#include <type_traits>

namespace regimen {

namespace detail {

/// y = x in element type To, or with another shape.
template <class X, class To, class TensorShape>
struct CastBound : LayerDefaults {
  using From = typename X::Element;
  using Output = Value<To, TensorShape>;
  static constexpr bool in_place = std::is_same_v<From, To>;

  static constexpr void forward(auto& walk, const auto& call) { cast<From, To>(walk, call.x, call.y); }
  static constexpr void backward(auto& walk, const auto& call) {
    if (call.wants_d_x()) cast<To, From>(walk, call.d_y, call.d_x);
  }

 private:
  template <class A, class B>
  static constexpr void cast(auto& walk, std::size_t from, std::size_t to) {
    if (from != to) walk.run(op::Cast<A, B>{{from}, {to}, walk.batch * X::size});
  }
};

/// y = x in element type To; the walker inserts it where the element type changes.
template <class To>
struct Cast final {
  static constexpr const char* name = "cast";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  using Bound = CastBound<X, To, typename X::Shape>;
};

}  // namespace detail

/// y = x as one row per sample                        x (B,...), y (B, product of the rest)
///
/// cost     saves nothing; in place if nothing reads x later, else one copy
struct Flatten final {
  static constexpr const char* name = "flatten";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  using Bound = detail::CastBound<X, typename X::Element, Shape<X::size>>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
