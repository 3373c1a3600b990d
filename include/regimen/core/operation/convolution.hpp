// regimen/core/operation/convolution.hpp — convolutions of images, and their gradients.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

/// The shape of a convolution.
///   x (samples, height, width, channels), y (samples, out_height(), out_width(), out_channels)
///   weight (out_channels, window_height, window_width, channels / groups); group g reads the g-th run of channels of x
///   and writes the g-th run of channels of y
/// y's pixel (i, j) reads x's pixels (i · stride + r · dilation − padding, j · stride + s · dilation − padding), which
/// are 0 outside of x.
struct Convolution {
  std::size_t samples = 0, height = 0, width = 0, channels = 0, out_channels = 0;
  std::size_t window_height = 1, window_width = 1, stride = 1, padding = 0, dilation = 1, groups = 1;

  REGIMEN_HD constexpr std::size_t out_height() const { return out(height, window_height); }
  REGIMEN_HD constexpr std::size_t out_width() const { return out(width, window_width); }
  /// Channels of x and y that belong to a group.
  REGIMEN_HD constexpr std::size_t group_channels() const { return channels / groups; }
  REGIMEN_HD constexpr std::size_t group_outputs() const { return out_channels / groups; }
  REGIMEN_HD constexpr std::size_t taps() const { return window_height * window_width; }
  /// Weights of an output channel, and all of them.
  REGIMEN_HD constexpr std::size_t depth() const { return taps() * group_channels(); }
  REGIMEN_HD constexpr std::size_t weights() const { return out_channels * depth(); }
  /// Pixels of x, and of y.
  REGIMEN_HD constexpr std::size_t pixels() const { return samples * height * width; }
  REGIMEN_HD constexpr std::size_t positions() const { return samples * out_height() * out_width(); }
  /// Whether each channel is a group of its own, and has one output.
  REGIMEN_HD constexpr bool is_depthwise() const { return groups == channels && groups == out_channels; }

  /// The line of x (or the column) that a tap reads for line `to` of y; `lines` or more where there is none.
  REGIMEN_HD constexpr std::size_t from(std::size_t to, std::size_t tap, std::size_t lines) const {
    const std::size_t padded = to * stride + tap * dilation;
    return padded < padding ? lines : padded - padding;
  }
  /// The line of y (or the column) that reads line `from` of x by a tap; `lines` or more where there is none.
  REGIMEN_HD constexpr std::size_t to(std::size_t from, std::size_t tap, std::size_t lines) const {
    const std::size_t padded = from + padding;
    return padded < tap * dilation || (padded - tap * dilation) % stride != 0 ? lines
                                                                              : (padded - tap * dilation) / stride;
  }
  /// Floating-point operations; those with the zeros of the padding count.
  constexpr double flops() const { return 2 * double(positions()) * double(out_channels) * double(depth()); }
  constexpr double numbers_of_x() const { return double(pixels()) * double(channels); }
  constexpr double numbers_of_y() const { return double(positions()) * double(out_channels); }
  bool operator==(const Convolution&) const = default;

 private:
  REGIMEN_HD constexpr std::size_t out(std::size_t extent, std::size_t window) const {
    return (extent + 2 * padding - dilation * (window - 1) - 1) / stride + 1;
  }
};

/// y[b,i,j,o] = bias[o] + Σ over r, s, c of weight[o,r,s,c] · x[b, i · stride + r · dilation − padding, ..., c]
///   summed in S, rounded once; the bias (out_channels) may be absent
template <class T>
struct Conv final {
  static constexpr const char* name = "conv";
  View<T> x, weight, y;
  Convolution shape;
  View<T> bias{};

  constexpr Cost cost() const {
    const double biased = bias.is_absent() ? 0 : 1;
    return {
        shape.flops() + biased * shape.numbers_of_y(),
        (shape.numbers_of_x() + double(shape.weights()) + shape.numbers_of_y() + biased * double(shape.out_channels)) *
            sizeof(T),
        1};
  }
};
/// d_x = the gradient of x                                   summed in S, rounded once
template <class T>
struct ConvInput final {
  static constexpr const char* name = "conv_input";
  View<T> d_y, weight, d_x;
  Convolution shape;

  constexpr Cost cost() const {
    return {shape.flops(), (shape.numbers_of_x() + double(shape.weights()) + shape.numbers_of_y()) * sizeof(T), 1};
  }
};
/// d_weight = the gradient of weight, or d_weight +=         summed in S, rounded once
template <class T, class G>
struct ConvWeight final {
  static constexpr const char* name = "conv_weight";
  View<T> x, d_y;
  View<G> d_weight;
  Convolution shape;
  bool add = false;

  constexpr Cost cost() const {
    return {
        shape.flops(),
        (shape.numbers_of_x() + shape.numbers_of_y()) * sizeof(T) + double(shape.weights()) * sizeof(G) * (add ? 2 : 1),
        1};
  }
};

/// y[b,i,j,g,r,c] = x[b, i · stride + r · dilation − padding, j, g, c], 0 where x has no such line: beside each other
/// the lines of a window, which here is one column wide; columns are taken as they are. Exact
///   x (samples, height, width, groups, channels / groups)
///   y (samples, out_height(), width, groups, window_height, channels / groups)
template <class T>
struct Unfold final {
  static constexpr const char* name = "unfold";
  View<T> x, y;
  Convolution shape;

  /// Elements of y.
  REGIMEN_HD constexpr std::size_t count() const {
    return shape.samples * shape.out_height() * shape.width * shape.window_height * shape.channels;
  }
  constexpr Cost cost() const { return {0, (shape.numbers_of_x() + double(count())) * sizeof(T), 1}; }
};
/// d_x = the gradient of Unfold's x: Σ over the windows that have a line          summed in S by r, rounded once
template <class T>
struct Fold final {
  static constexpr const char* name = "fold";
  View<T> d_y, d_x;
  Convolution shape;

  constexpr Cost cost() const {
    const double windows = double(Unfold<T>{.x = {}, .y = {}, .shape = shape}.count());
    return {windows, (shape.numbers_of_x() + windows) * sizeof(T), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
