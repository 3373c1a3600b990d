// regimen/layer/pool.hpp — between images and smaller or larger ones: MaxPool, AveragePool, Upsample; from all
// positions to one row: GlobalMaxPool.
#pragma once

#include <regimen/layer/layer.hpp>

#include <cstddef>

namespace regimen {

namespace detail {

/// The squares between an image X and one with height and width divided by Size.
template <std::size_t Size, class X>
struct Pooled {
  static constexpr std::size_t height = X::Shape::extent(0) / Size, width = X::Shape::extent(1) / Size;
  using Output = Value<typename X::Element, Shape<height, width, X::columns>>;
  static constexpr op::Squares squares(const auto& engine) {
    return {.samples = engine.batch, .height = height, .width = width, .columns = X::columns, .size = Size};
  }
};

}  // namespace detail

/// y[b,i,j,c] = max of x[b, i·Size + r, j·Size + s, c] over 0 <= r, s < Size
///
///   x (B,H,W,C)   y (B,H/Size,W/Size,C)   exact; NaN where one of its pixels is. The gradient goes to the first of
///   several largest
///
/// refuses  extents that Size does not divide
/// cost     saves x
template <std::size_t Size>
struct MaxPool final {
  static constexpr const char* name = "max_pool";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Pooled = detail::Pooled<Size, X>;
    using Output = typename Pooled::Output;
    static constexpr Reads backward_reads(bool) { return Reads::input; }

    static constexpr void forward(auto& engine, const auto& call) {
      engine.run(op::MaxSquares<T>{.x = {call.x}, .y = {call.y}, .squares = Pooled::squares(engine)});
    }
    static constexpr void backward(auto& engine, const auto& call) {
      if (call.wants_d_x())
        engine.run(op::MaxSquaresBackward<T>{
            .x = {call.x}, .d_y = {call.d_y}, .d_x = {call.d_x}, .squares = Pooled::squares(engine)});
    }
  };
};

/// y[b,c] = max of x[b,t,c] over t                    x (B,T,C), or (B,H,W,C) over all positions; y (B,C)
///
/// error    exact; NaN where one of its positions is. The gradient goes to the first of several largest
/// cost     saves x
struct GlobalMaxPool final {
  static constexpr const char* name = "global_max_pool";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = Value<T, Shape<X::columns>>;
    static constexpr Reads backward_reads(bool) { return Reads::input; }

    static constexpr void forward(auto& engine, const auto& call) {
      engine.run(op::MaxRows<T>{
          .x = {call.x}, .y = {call.y}, .samples = engine.batch, .rows = X::rows, .columns = X::columns});
    }
    static constexpr void backward(auto& engine, const auto& call) {
      if (call.wants_d_x())
        engine.run(op::MaxRowsBackward<T>{.x = {call.x},
                                          .d_y = {call.d_y},
                                          .d_x = {call.d_x},
                                          .samples = engine.batch,
                                          .rows = X::rows,
                                          .columns = X::columns});
    }
  };
};

/// y[b,i,j,c] = mean of x[b, i·Size + r, j·Size + s, c] over 0 <= r, s < Size
///
///   x (B,H,W,C)   y (B,H/Size,W/Size,C)
///
/// refuses  extents that Size does not divide
/// error    a sum in at least fp32, times 1 / Size² in that type; one rounding
/// cost     saves nothing
template <std::size_t Size>
struct AveragePool final {
  static constexpr const char* name = "average_pool";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Pooled = detail::Pooled<Size, X>;
    using Output = typename Pooled::Output;
    static constexpr double scale = 1 / double(Size * Size);

    static constexpr void forward(auto& engine, const auto& call) {
      engine.run(op::SumSquares<T>{.x = {call.x}, .y = {call.y}, .squares = Pooled::squares(engine), .scale = scale});
    }
    static constexpr void backward(auto& engine, const auto& call) {
      if (call.wants_d_x())
        engine.run(
            op::SpreadSquares<T>{.x = {call.d_y}, .y = {call.d_x}, .squares = Pooled::squares(engine), .scale = scale});
    }
  };
};

/// y[b,i,j,c] = x[b, i / Size, j / Size, c]: the nearest pixel
///
///   x (B,H,W,C)   y (B,H·Size,W·Size,C)   exact; the gradient is summed in at least fp32
///
/// cost     saves nothing
template <std::size_t Size>
struct Upsample final {
  static constexpr const char* name = "upsample";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = Value<T, Shape<X::Shape::extent(0) * Size, X::Shape::extent(1) * Size, X::columns>>;
    static constexpr auto squares(const auto& engine) { return detail::Pooled<Size, Output>::squares(engine); }

    static constexpr void forward(auto& engine, const auto& call) {
      engine.run(op::SpreadSquares<T>{.x = {call.x}, .y = {call.y}, .squares = squares(engine)});
    }
    static constexpr void backward(auto& engine, const auto& call) {
      if (call.wants_d_x()) engine.run(op::SumSquares<T>{.x = {call.d_y}, .y = {call.d_x}, .squares = squares(engine)});
    }
  };
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
