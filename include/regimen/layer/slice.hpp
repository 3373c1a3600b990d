// regimen/layer/slice.hpp — a part of a value along one axis.
#pragma once

#include <regimen/layer/layer.hpp>

#include <cstddef>

namespace regimen {

namespace detail {

/// Begin, Count along an axis; `innermost`: the last.
inline constexpr std::size_t innermost = ~std::size_t{0};

template <std::size_t axis_, std::size_t Begin, std::size_t Count, class X>
struct SliceBound : LayerDefaults {
  using T = typename X::Element;
  static constexpr std::size_t axis = axis_ == innermost ? X::Shape::rank - 1 : axis_;
  using Output = Value<T, typename with_extent<typename X::Shape, axis, Count>::type>;
  static constexpr std::size_t row = X::Shape::size_from(axis), width = Output::Shape::size_from(axis),
                               first = row / X::Shape::extent(axis) * Begin * sizeof(T);

  static constexpr void forward(auto& walk, const auto& call) { copy(walk, {call.x + first, row}, {call.y, width}); }
  static constexpr void backward(auto& walk, const auto& call) {
    if constexpr (Number<T>) {
      if (!call.wants_d_x()) return;
      walk.run(op::Zero<T>{{call.d_x}, walk.batch * X::size});
      copy(walk, {call.d_y, width}, {call.d_x + first, row});
    }
  }

 private:
  static constexpr void copy(auto& walk, RowsAt from, RowsAt to) {
    walk.run(copy_of_rows<T>(from, to, walk.batch * X::size / row, width));
  }
};
template <std::size_t axis, std::size_t Begin, std::size_t Count>
struct SliceLayer {
  static constexpr const char* name = "slice";
  static constexpr bool couples_samples = false, keeps_element = true;
  template <class X, class Roles>
  using Bound = SliceBound<axis, Begin, Count, X>;
};

}  // namespace detail

/// y = x[..., Begin : Begin + Count, ...] along an axis; axis 0 is the outermost of a sample.
///
///   x numbers or tokens of any shape   y the same, with extent Count along the axis; exact
///   Tokens stay tokens: two texts in one input are its Slice<0, 64> and Slice<64, 32>
///
/// refuses  a part beyond x
/// cost     saves nothing; a copy; backward writes a gradient of x with zeros elsewhere
template <std::size_t axis, std::size_t Begin, std::size_t Count>
struct SliceAlong final : detail::SliceLayer<axis, Begin, Count> {};
/// SliceAlong the innermost axis: channels, or the positions of tokens.
template <std::size_t Begin, std::size_t Count>
struct Slice final : detail::SliceLayer<detail::innermost, Begin, Count> {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
