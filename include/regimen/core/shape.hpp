// regimen/core/shape.hpp — shapes are types and describe one sample; the batch is a value that the engine holds.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace regimen {

/// The extents of one sample, row-major, innermost last: the docs write `Shape<T, C>` as (B,T,C).
template <std::size_t... Extents>
struct Shape final {
  static constexpr std::size_t rank = sizeof...(Extents);
  static constexpr std::size_t size = (Extents * ... * std::size_t{1});
  static constexpr std::size_t columns = [] {
    std::size_t last = 1;
    ((last = Extents), ...);
    return last;
  }();
  static constexpr std::size_t rows = columns == 0 ? 0 : size / columns;
  /// The extent of an axis, the outermost is 0; 0 if there is no such axis.
  static constexpr std::size_t extent(std::size_t axis) {
    std::size_t found = 0, i = 0;
    ((i++ == axis ? found = Extents : found), ...);
    return found;
  }
  /// The elements of an axis and all inside of it.
  static constexpr std::size_t size_from(std::size_t axis) {
    std::size_t product = 1, i = 0;
    ((i++ >= axis ? product *= Extents : product), ...);
    return product;
  }
};

/// The shapes of several outputs of a model, which lie one behind the other, each for the whole batch. As a shape: the
/// elements of all of them, in one axis that has no rows.
template <class... Shapes>
struct JoinedShapes final {
  static constexpr std::size_t count = sizeof...(Shapes), rank = 1, size = (std::size_t{0} + ... + Shapes::size),
                               columns = size, rows = 0;
  static constexpr std::array<std::size_t, count> sizes{Shapes::size...};
  static constexpr std::size_t extent(std::size_t axis) { return axis == 0 ? size : 0; }
  static constexpr std::size_t size_from(std::size_t axis) { return axis == 0 ? size : 1; }

  template <std::size_t i>
  using at = std::tuple_element_t<i, std::tuple<Shapes...>>;
};

namespace detail {
template <class TensorShape>
inline constexpr bool is_joined = false;
template <class... Shapes>
inline constexpr bool is_joined<JoinedShapes<Shapes...>> = true;
}  // namespace detail

/// An element type and a shape: what flows between two layers.
template <class Element_, class Shape_>
struct Value final {
  using Element = Element_;
  using Shape = Shape_;
  static constexpr std::size_t size = Shape::size, rows = Shape::rows, columns = Shape::columns;
  static constexpr std::size_t leading = columns;               // elements from row to row
  static constexpr std::size_t bytes = size * sizeof(Element);  // of one sample
};

/// A Value whose rows all begin at multiples of so many bytes. The bytes between rows belong to nothing: they are never
/// written by intent, and never read into a result. Its gradient, which overwrites it, has elements of type Gradient,
/// in rows that begin where its own do.
template <class Dense, std::size_t row_alignment, class Gradient_ = typename Dense::Element>
struct PaddedValue final {
  using Element = typename Dense::Element;
  using Gradient = Gradient_;
  using Shape = typename Dense::Shape;
  static constexpr std::size_t size = Shape::size, rows = Shape::rows, columns = Shape::columns;
  static constexpr std::size_t leading =
      (columns * sizeof(Element) + row_alignment - 1) / row_alignment * row_alignment / sizeof(Element);
  static constexpr std::size_t bytes = rows * leading * sizeof(Element);
};

namespace detail {
template <class V>
struct element_of {
  using type = typename V::Element;
};
template <class V>
struct gradient_of : element_of<V> {};
template <class V>
  requires requires { typename V::Gradient; }
struct gradient_of<V> {
  using type = typename V::Gradient;
};
/// Element type of what a loss leaves in the place of an output: its gradient, or the output itself.
template <bool gradient, class V>
using left_by_loss = typename std::conditional_t<gradient, gradient_of<V>, element_of<V>>::type;
}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
