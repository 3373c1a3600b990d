// regimen/layer/conv3d.hpp — convolutions of volumes: Conv3d.
#pragma once

#include <regimen/layer/conv.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen {

namespace detail {

struct Conv3dOptions : ConvOptions {
  std::size_t depth = 1;

  constexpr void take(WindowOption window) {
    height = window.height, width = window.width, depth = window.depth;
    known &= depth > 0 && depth != ~std::size_t{0};
  }
  template <class Number>
    requires std::is_integral_v<Number>
  constexpr void take(Number window) {
    ConvOptions::take(window);
    depth = height;
  }
  constexpr bool has_one_extent() const { return height == width && height == depth; }
};
}  // namespace detail

namespace in_order {
/// regimen::Conv3d, written in this order: window, then options.
template <std::size_t Channels, auto Window, auto... Options>
struct Conv3d final {
  static constexpr const char* name = "conv3d";
  static constexpr bool couples_samples = false;
  static constexpr std::size_t channels = Channels;
  static constexpr detail::Conv3dOptions options = detail::conv_options<detail::Conv3dOptions, Window, Options...>;

  template <class X>
  struct Form {
    using T = typename X::Element;
    using From = typename X::Shape;
    /// Frames as lines: a line has all pixels of its frame.
    static constexpr op::Convolution frames = [] {
      op::Convolution all = options.shape(From::extent(0), From::extent(1) * From::extent(2), X::columns, X::columns);
      all.window_height = options.depth, all.window_width = 1;
      return all;
    }();
    static constexpr std::size_t depth = frames.out_height(),
                                 elements = depth * frames.width * options.depth * X::columns;
    static constexpr bool copies = options.depth > 1 || options.stride > 1 || options.padding > 0;
    static constexpr op::Convolution shape = [] {
      op::Convolution all = options.shape(From::extent(1), From::extent(2), options.depth * X::columns, Channels);
      all.samples = depth;
      return all;
    }();
    using Output = Shape<depth, shape.out_height(), shape.out_width(), Channels>;
    static constexpr std::size_t weight_rank = 4;
    static constexpr std::array<std::size_t, 4> weight{Channels, options.height, options.width, shape.group_channels()};

    static constexpr op::Convolution all_frames(const auto& walk) {
      op::Convolution all = frames;
      all.samples = walk.batch;
      return all;
    }
    static constexpr void prepare(auto& walk, std::size_t x, std::size_t images) {
      walk.run(op::Unfold<T>{.x = {x}, .y = {images}, .shape = all_frames(walk)});
    }
    static constexpr void restore(auto& walk, std::size_t d_images, std::size_t d_x) {
      walk.run(op::Fold<T>{.d_y = {d_images}, .d_x = {d_x}, .shape = all_frames(walk)});
    }
  };
  template <class X, class Roles>
  using Bound = detail::PreparedConvBound<Conv3d, X, Roles>;
};
}  // namespace in_order

/// y[b,k,i,j,o] = bias[o] + Σ over q, r, s, c of weight[o,r,s,q,c] · x[b, k·stride + q·dilation − padding, i·stride +
///                                            r·dilation − padding, j·stride + s·dilation − padding, c],
///                                            x being 0 outside
///
///   x (B,D,H,W,C), y (B,D',H',W',Channels)   D' = ⌊(D + 2·padding − dilation·(Q − 1) − 1) / stride⌋ + 1, H', W' alike
///   weight (Channels,R,S,Q·C/groups)         uniform in ±1/√(Q·R·S·C/groups); its last extent has q, then the channels
///                                            of o's group
///   bias (Channels)                          zero
///
/// Conv3d<64, 3> has a window of 3 x 3 x 3, Conv3d<64, KernelSize<Q, R, S>> any other: Q frames of R lines of S pixels.
/// It has the options of Conv2d, each for all three axes.
/// error    sums in at least fp32; one rounding; the gradient of x is rounded once more if windows have several frames
/// refuses  a window that is larger than the padded volume; groups that do not divide C and Channels
/// cost     2·B·D'·H'·W'·Channels·Q·R·S·C/groups flops forward, twice that backward; saves x. Computed as Conv2d of
///          images with Q·C channels: a copy has the frames of a window side by side, with D'/D·Q times the memory of
///          x, in forward and in backward
template <std::size_t Channels, auto Window, auto... Options>
using Conv3d = detail::conv_in_order<in_order::Conv3d, detail::Conv3dOptions, Channels, Window, Options...>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
