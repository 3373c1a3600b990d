// regimen/layer/pool.hpp — between images and smaller or larger ones: MaxPool, AveragePool, Upsample,
// Downsample; from all positions to one row: GlobalMaxPool.
#pragma once

#include <regimen/layer/layer.hpp>
#include <regimen/layer/window.hpp>

#include <boost/mp11/utility.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

namespace detail {

/// The squares between an image X and one with height and width divided by Size.
template <std::size_t Size, class X>
struct Pooled {
  using T = typename X::Element;
  using Sum = op::SumSquares<T>;
  using Spread = op::SpreadSquares<T>;
  using Max = op::MaxSquares<T>;
  using MaxBackward = op::MaxSquaresBackward<T>;
  static constexpr std::size_t height = X::Shape::extent(0) / Size, width = X::Shape::extent(1) / Size;
  using Output = Value<T, Shape<height, width, X::columns>>;
  static constexpr op::Squares squares(const auto& walk) {
    return {.samples = walk.batch, .height = height, .width = width, .columns = X::columns, .size = Size};
  }
};

/// A pool with options in order; options that are not sound stay as written.
template <template <std::size_t, auto...> class Pool, std::size_t Size, auto... Options>
constexpr auto pool_in_order() {
  constexpr PoolOptions given = pool_options<Size, Options...>;
  if constexpr (given.cuts || !given.are_sound()) return boost::mp11::mp_identity<Pool<Size, Options...>>{};
  else if constexpr (given.padding == 0) return boost::mp11::mp_identity<Pool<Size, StrideOption{given.stride}>>{};
  else return boost::mp11::mp_identity<Pool<Size, StrideOption{given.stride}, PaddingOption{given.padding}>>{};
}

/// The windows of an image X, and the operations on them.
template <std::size_t Size, class X, auto... Options>
struct PooledWindows {
  using T = typename X::Element;
  using Sum = op::SumWindows<T>;
  using Spread = op::SpreadWindows<T>;
  using Max = op::MaxWindows<T>;
  using MaxBackward = op::MaxWindowsBackward<T>;
  static constexpr PoolOptions options = pool_options<Size, Options...>;
  static constexpr op::Windows of_one{.samples = 1,
                                      .height = X::Shape::extent(0),
                                      .width = X::Shape::extent(1),
                                      .columns = X::columns,
                                      .size = Size,
                                      .stride = options.stride,
                                      .padding = options.padding};
  using Output = Value<T, Shape<of_one.windows_high(), of_one.windows_wide(), X::columns>>;
  static constexpr op::Windows squares(const auto& walk) {
    op::Windows all = of_one;
    all.samples = walk.batch;
    return all;
  }
};
template <std::size_t Size, class X, auto... Options>
using pooled = std::conditional_t<sizeof...(Options) == 0, Pooled<Size, X>, PooledWindows<Size, X, Options...>>;

}  // namespace detail

namespace in_order {
/// regimen::MaxPool, written in this order: Stride, always, and Padding, if there are options.
template <std::size_t Size, auto... Options>
struct MaxPool final {
  static constexpr const char* name = "max_pool";
  static constexpr bool couples_samples = false;
  static constexpr auto options = detail::pool_options<Size, Options...>;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Pooled = detail::pooled<Size, X, Options...>;
    using Output = typename Pooled::Output;
    static constexpr Reads backward_reads(bool) { return Reads::input; }

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(typename Pooled::Max{{call.x}, {call.y}, Pooled::squares(walk)});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x())
        walk.run(typename Pooled::MaxBackward{{call.x}, {call.d_y}, {call.d_x}, Pooled::squares(walk)});
    }
  };
};
}  // namespace in_order

/// y[b,i,j,c] = max of x[b, i·stride + r − padding, j·stride + s − padding, c] over 0 <= r, s < Size, within the image
///
///   x (B,H,W,C)   y (B,H',W',C)   H' = ⌊(H + 2·padding − Size) / stride⌋ + 1, W' alike. Exact; NaN if a pixel of
///   the window is NaN. The gradient goes to the first of several equal maxima
///
/// MaxPool<2> cuts the image into squares. Options, in any order, each once: Stride<N> (otherwise Size), Padding<N>.
/// refuses  without options, extents that Size does not divide; padding of Size or more; a window larger than the
///          padded image
/// cost     saves x. With options, backward searches the maximum of a window again for each of its pixels
template <std::size_t Size, auto... Options>
using MaxPool = typename decltype(detail::pool_in_order<in_order::MaxPool, Size, Options...>())::type;

/// y[b,c] = max of x[b,t,c] over t                    x (B,T,C), or (B,H,W,C) over all positions; y (B,C)
///
/// error    exact; NaN if a position is NaN. The gradient goes to the first of several equal maxima
/// cost     saves x
struct GlobalMaxPool final {
  static constexpr const char* name = "global_max_pool";
  static constexpr bool couples_samples = false;
  static constexpr detail::GlobalPoolOptions options{};

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = Value<T, Shape<X::columns>>;
    static constexpr Reads backward_reads(bool) { return Reads::input; }

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(
          op::MaxRows<T>{.x = {call.x}, .y = {call.y}, .samples = walk.batch, .rows = X::rows, .columns = X::columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x())
        walk.run(op::MaxRowsBackward<T>{.x = {call.x},
                                        .d_y = {call.d_y},
                                        .d_x = {call.d_x},
                                        .samples = walk.batch,
                                        .rows = X::rows,
                                        .columns = X::columns});
    }
  };
};

namespace in_order {
/// regimen::AveragePool, written in this order: Stride, always, and Padding, if there are options.
template <std::size_t Size, auto... Options>
struct AveragePool final {
  static constexpr const char* name = "average_pool";
  static constexpr bool couples_samples = false;
  static constexpr auto options = detail::pool_options<Size, Options...>;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Pooled = detail::pooled<Size, X, Options...>;
    using Output = typename Pooled::Output;
    static constexpr double scale = 1 / double(Size * Size);

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(typename Pooled::Sum{{call.x}, {call.y}, Pooled::squares(walk), scale});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) walk.run(typename Pooled::Spread{{call.d_y}, {call.d_x}, Pooled::squares(walk), scale});
    }
  };
};
}  // namespace in_order

/// y[b,i,j,c] = mean of x[b, i·stride + r − padding, j·stride + s − padding, c] over 0 <= r, s < Size,
/// x being 0 outside
///
///   x (B,H,W,C)   y (B,H',W',C)   extents and options as those of MaxPool
///
/// Zeros of the padding count: the sum is divided by Size² (PyTorch's default, count_include_pad).
/// refuses  as MaxPool
/// error    a sum in at least fp32, times 1 / Size² in that type; one rounding
/// cost     saves nothing
template <std::size_t Size, auto... Options>
using AveragePool = typename decltype(detail::pool_in_order<in_order::AveragePool, Size, Options...>())::type;

/// Upsample<N, Bilinear>, Downsample<N, Bilinear>: pixels interpolated by distance.
struct Bilinear final {};

/// Upsample<N>             y[b,i,j,c] = x[b, i / N, j / N, c]: the nearest pixel
/// Upsample<N, Bilinear>   y[b,i,j,c] = x at line (i + 1/2) / N − 1/2, column (j + 1/2) / N − 1/2, interpolated from
///                         the four pixels around; beyond the centres of the outer pixels, the values of these pixels
///                         (PyTorch's align_corners=False)
///
///   x (B,H,W,C)   y (B,H·N,W·N,C)   the nearest is exact; Bilinear and gradients: sums in at least fp32, one rounding
///
/// cost     saves nothing
template <std::size_t Size, class... Mode>
struct Upsample final {
  static constexpr const char* name = "upsample";
  static constexpr bool couples_samples = false, is_bilinear = (std::is_same_v<Mode, Bilinear> || ...);
  static constexpr detail::ResamplingOptions options{
      .factor = Size, .cuts = false, .known = sizeof...(Mode) == (is_bilinear ? 1 : 0)};

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = Value<T, Shape<X::Shape::extent(0) * Size, X::Shape::extent(1) * Size, X::columns>>;
    static constexpr auto squares(const auto& walk) { return detail::Pooled<Size, Output>::squares(walk); }

    static constexpr void forward(auto& walk, const auto& call) {
      if constexpr (is_bilinear) walk.run(op::Interpolate<T>{.x = {call.x}, .y = {call.y}, .squares = squares(walk)});
      else walk.run(op::SpreadSquares<T>{.x = {call.x}, .y = {call.y}, .squares = squares(walk)});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (!call.wants_d_x()) return;
      if constexpr (is_bilinear)
        walk.run(op::InterpolateBackward<T>{.d_y = {call.d_y}, .d_x = {call.d_x}, .squares = squares(walk)});
      else walk.run(op::SumSquares<T>{.x = {call.d_y}, .y = {call.d_x}, .squares = squares(walk)});
    }
  };
};

/// Downsample<N>             y[b,i,j,c] = x[b, i·N, j·N, c]: one pixel of each N x N
/// Downsample<N, Bilinear>   y[b,i,j,c] = x at line (i + 1/2) · N − 1/2, column (j + 1/2) · N − 1/2: the mean of the
///                           four pixels around this point, if N is even, or the pixel at this point
///                           (PyTorch's interpolate with scale_factor 1/N: "nearest", "bilinear"; align_corners=False)
///
///   x (B,H,W,C)   y (B,H/N,W/N,C)   a pixel is exact; means are summed in at least fp32, one rounding
///
/// Both skip pixels, so fine patterns turn into coarse ones (aliasing); AveragePool<N> reads every pixel.
/// refuses  an image whose lines or columns N does not divide
/// cost     saves nothing
template <std::size_t Size, class... Mode>
struct Downsample final {
  static constexpr const char* name = "downsample";
  static constexpr bool couples_samples = false, is_bilinear = (std::is_same_v<Mode, Bilinear> || ...);
  static constexpr detail::ResamplingOptions options{
      .factor = Size, .cuts = true, .known = sizeof...(Mode) == (is_bilinear ? 1 : 0)};

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = typename detail::Pooled<Size, X>::Output;
    static constexpr std::size_t read = is_bilinear && Size % 2 == 0 ? 2 : 1;  // lines and columns, of Size
    static constexpr double scale = 1 / double(read * read);
    static constexpr op::Windows windows(const auto& walk) {
      return {.samples = walk.batch,
              .height = X::Shape::extent(0),
              .width = X::Shape::extent(1),
              .columns = X::columns,
              .size = read,
              .stride = Size,
              .skip = is_bilinear ? (Size - read) / 2 : 0};
    }

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::SumWindows<T>{.x = {call.x}, .y = {call.y}, .windows = windows(walk), .scale = scale});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x())
        walk.run(op::SpreadWindows<T>{.x = {call.d_y}, .y = {call.d_x}, .windows = windows(walk), .scale = scale});
    }
  };
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
