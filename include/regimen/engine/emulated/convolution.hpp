// regimen/engine/emulated/convolution.hpp — what cuDNN demands of a convolution, and convolutions by loops.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/convolution.hpp>
#include <regimen/engine/cuda/runtime.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace regimen::emulated {

/// A convolution that the library has accepted.
struct Convolution {
  cuda::ConvolutionDescriptor convolution{};
};

/// Refuses what cuDNN's documentation excludes of a convolution's descriptors: extents, strides and dilations below one,
/// channels that groups do not divide, an output without elements.
inline void check_convolution(const cuda::ConvolutionDescriptor& o) {
  const auto demand = [](bool holds, const char* expected, const std::string& found) {
    if (!holds) throw Error("a convolution of the library (CUDNN_STATUS_BAD_PARAM)", expected, found);
  };
  const op::Convolution& s = o.shape;
  demand(s.samples * s.height * s.width * s.channels * s.out_channels * s.taps() > 0, "tensors with elements",
         "one without");
  demand(s.stride > 0 && s.dilation > 0 && s.groups > 0, "strides, dilations and groups of one or more", "zero");
  demand(s.channels % s.groups == 0 && s.out_channels % s.groups == 0, "groups that divide the channels",
         std::to_string(s.groups) + " groups of " + std::to_string(s.channels) + " and " +
             std::to_string(s.out_channels) + " channels");
  demand(s.dilation * (s.window_height - 1) < s.height + 2 * s.padding &&
             s.dilation * (s.window_width - 1) < s.width + 2 * s.padding,
         "a window within the padded image", "a larger one");
  demand(!o.add || o.pass == cuda::ConvolutionDescriptor::Pass::weight, "a sum of gradients of the weight alone",
         "another one");
}

/// body(address, bytes, name) for the tensors of a call.
template <class Body>
void for_each_tensor(const cuda::ConvolutionDescriptor& o, const cuda::ConvolutionTensors& at, const Body& body) {
  const op::Convolution& s = o.shape;
  const std::size_t bytes = bytes_of(o.type);
  body(at.x, s.pixels() * s.channels * bytes, "cuDNN's x");
  body(at.weight, s.weights() * bytes, "cuDNN's weight");
  body(at.y, s.positions() * s.out_channels * bytes, "cuDNN's y");
}

namespace detail {

/// Each sum in S, rounded once, by the lines and columns that the definition names.
template <class T>
void convolve(const cuda::ConvolutionDescriptor& o, const cuda::ConvolutionTensors& at) {
  using S = statistic_t<T>;
  using Pass = cuda::ConvolutionDescriptor::Pass;
  const op::Convolution& s = o.shape;
  const std::size_t height = s.out_height(), width = s.out_width(), channels = s.group_channels(),
                    outputs = s.group_outputs();
  T* const x = reinterpret_cast<T*>(at.x);
  T* const weight = reinterpret_cast<T*>(at.weight);
  T* const y = reinterpret_cast<T*>(at.y);
  T* const to = o.pass == Pass::forward ? y : o.pass == Pass::input ? x : weight;
  std::vector<S> sums(o.pass == Pass::forward ? s.positions() * s.out_channels
                      : o.pass == Pass::input ? s.pixels() * s.channels
                                              : s.weights());
  const auto term = [&](std::size_t of_x, std::size_t of_weight, std::size_t of_y) {
    const auto number = [](T value) { return static_cast<S>(value); };
    if (o.pass == Pass::forward) sums[of_y] += number(x[of_x]) * number(weight[of_weight]);
    else if (o.pass == Pass::input) sums[of_x] += number(y[of_y]) * number(weight[of_weight]);
    else sums[of_weight] += number(x[of_x]) * number(y[of_y]);
  };
  for (std::size_t position = 0; position < s.positions(); ++position)
    for (std::size_t tap = 0; tap < s.taps(); ++tap) {
      const std::size_t i = position / width % height, j = position % width,
                        h = i * s.stride + tap / s.window_width * s.dilation,
                        w = j * s.stride + tap % s.window_width * s.dilation;
      if (h < s.padding || w < s.padding || h - s.padding >= s.height || w - s.padding >= s.width) continue;
      const std::size_t pixel = (position / (width * height) * s.height + h - s.padding) * s.width + w - s.padding;
      for (std::size_t k = 0; k < s.out_channels; ++k)
        for (std::size_t c = 0; c < channels; ++c)
          term(pixel * s.channels + k / outputs * channels + c, (k * s.taps() + tap) * channels + c,
               position * s.out_channels + k);
    }
  for (std::size_t i = 0; i < sums.size(); ++i)
    to[i] = static_cast<T>(o.add ? sums[i] + static_cast<S>(to[i]) : sums[i]);
}

}  // namespace detail

inline void convolve(const cuda::ConvolutionDescriptor& o, const cuda::ConvolutionTensors& at) {
  with_element(o.type, [&]<class T>(T) { detail::convolve<T>(o, at); });
}

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
