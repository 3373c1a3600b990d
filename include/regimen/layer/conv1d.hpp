// regimen/layer/conv1d.hpp — convolutions of positions: Conv1d.
#pragma once

#include <regimen/layer/conv.hpp>

#include <array>
#include <cstddef>

namespace regimen {

enum class CausalPaddingOption { CausalPadding };
/// Zeros before the first position, as many as a window reaches back, and none at the end: no position reads later
/// ones.
inline constexpr CausalPaddingOption CausalPadding = CausalPaddingOption::CausalPadding;

namespace detail {

struct Conv1dOptions : ConvOptions {
  bool causal = false;
  unsigned causals = 0;

  constexpr void take(WindowOption) { known = false; }
  template <class Number>
    requires std::is_integral_v<Number>
  constexpr void take(Number window) {
    ConvOptions::take(window);
    height = 1;
  }
  using ConvOptions::add;
  constexpr void add(CausalPaddingOption) { causal = true, ++causals; }
  /// One padding: causal, or on both sides.
  constexpr bool are_sound() const { return ConvOptions::are_sound() && causals + given[1] <= 1; }
  constexpr bool has_one_extent() const { return true; }
  /// Positions that a window spans.
  constexpr std::size_t span() const { return dilation * (width > 0 ? width - 1 : 0) + 1; }
  constexpr std::size_t left() const { return causal ? span() - 1 : padding; }
  constexpr std::size_t pads() const { return causal ? left() : 2 * padding; }
};
template <>
inline constexpr ValuePlace value_place<CausalPaddingOption>{2};
}  // namespace detail

namespace in_order {
/// regimen::Conv1d, written in this order: window, then options.
template <std::size_t Channels, auto Window, auto... Options>
struct Conv1d final {
  static constexpr const char* name = "conv1d";
  static constexpr bool couples_samples = false;
  static constexpr std::size_t channels = Channels;
  static constexpr detail::Conv1dOptions options = detail::conv_options<detail::Conv1dOptions, Window, Options...>;

  /// Whether positions read later ones: such a model does not generate.
  static constexpr bool looks_ahead = options.stride > 1 || options.left() + 1 < options.span();

  template <class X>
  struct Form {
    using T = typename X::Element;
    static constexpr std::size_t length = X::Shape::extent(0), padded = length + options.pads(),
                                 elements = padded * X::columns,
                                 begin = options.left() * X::columns * sizeof(T);  // of x in the images, in bytes
    static constexpr bool copies = padded > length;
    static constexpr op::Convolution shape = [] {
      op::Convolution all = options.shape(1, padded, X::columns, Channels);
      all.padding = 0;
      return all;
    }();
    using Output = Shape<shape.out_width(), Channels>;
    static constexpr std::size_t weight_rank = 3;
    static constexpr std::array<std::size_t, 4> weight{Channels, options.width, shape.group_channels(), 1};

    static constexpr void prepare(auto& walk, std::size_t x, std::size_t images) {
      walk.run(op::Zero<T>{{images}, walk.batch * elements});
      walk.run(detail::copy_of_rows<T>({x, X::size}, {images + begin, elements}, walk.batch, X::size));
    }
    static constexpr void restore(auto& walk, std::size_t d_images, std::size_t d_x) {
      walk.run(detail::copy_of_rows<T>({d_images + begin, elements}, {d_x, X::size}, walk.batch, X::size));
    }
  };
  template <class X, class Roles>
  using Bound = detail::PreparedConvBound<Conv1d, X, Roles>;
};
}  // namespace in_order

/// y[b,t,o] = bias[o] + Σ over s, c of weight[o,s,c] · x[b, t·stride + s·dilation − left, c], x being 0 outside
///
///   x (B,T,C), y (B,T',Channels)    T' = ⌊(T + left + right − dilation·(S − 1) − 1) / stride⌋ + 1
///   weight (Channels,S,C/groups)    uniform in ±1/√(S·C/groups); c counts the channels of o's group
///   bias (Channels)                 zero
///
/// Conv1d<64, 3> has a window of 3 positions. Options, in any order, each once: Stride<2>, Padding<1> on both sides, or
/// CausalPadding, dilation·(S − 1) only on the left, Dilation<2>, Groups<N> (depthwise with as many groups as
/// channels), NoBias.
/// error    sums in at least fp32; one rounding
/// refuses  two paddings; a window that is longer than the padded input; groups that do not divide C and Channels
/// cost     2·B·T'·Channels·S·C/groups flops forward, twice that backward; saves x. Computed as Conv2d of images of one
///          line; with padding, of a copy of x with the zeros, in forward and in backward
template <std::size_t Channels, auto Window, auto... Options>
using Conv1d = detail::conv_in_order<in_order::Conv1d, detail::Conv1dOptions, Channels, Window, Options...>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
