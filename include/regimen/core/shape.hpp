// regimen/core/shape.hpp — shapes are types and describe one sample; the batch is a value that the engine holds.
#pragma once

#include <cstddef>
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
};

/// An element type and a shape: what flows between two layers.
template <class Element_, class Shape_>
struct Value final {
  using Element = Element_;
  using Shape = Shape_;
  static constexpr std::size_t size = Shape::size, rows = Shape::rows, columns = Shape::columns;
  static constexpr std::size_t bytes = size * sizeof(Element);  // of one sample
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
