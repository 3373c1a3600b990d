// regimen/layer/window.hpp — options of layers with windows of an image, values like NoBias; facts of them for rules.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen {

enum class StrideOption : std::size_t {};
enum class PaddingOption : std::size_t {};
/// The distance of the windows of neighbouring outputs, in lines and columns.
template <std::size_t Size>
inline constexpr StrideOption Stride{Size};
/// Lines and columns of zeros on each side of the image. MaxPool ignores these pixels.
template <std::size_t Size>
inline constexpr PaddingOption Padding{Size};

namespace detail {

/// A layer's member `options` is of this type: so rules know a pool without its header, and a change to it concerns
/// only programs that have one.
template <class Layer, class Options>
concept HasOptions = requires { requires std::is_same_v<std::remove_cv_t<decltype(Layer::options)>, Options>; };

/// The options of a pool, and how often each is given.
struct PoolOptions {
  std::size_t size = 0, stride = 0, padding = 0;
  std::array<unsigned, 2> given{};
  bool known = true, cuts = false;  // cuts: without options, an image into squares

  constexpr void add(StrideOption lines) { stride = static_cast<std::size_t>(lines), ++given[0]; }
  constexpr void add(PaddingOption lines) { padding = static_cast<std::size_t>(lines), ++given[1]; }
  constexpr void add(auto) { known = false; }
  constexpr bool are_sound() const { return known && given[0] <= 1 && given[1] <= 1; }
};
template <std::size_t Size, auto... Options>
inline constexpr PoolOptions pool_options = [] {
  PoolOptions all{.size = Size, .cuts = sizeof...(Options) == 0};
  (all.add(Options), ...);
  if (all.given[0] == 0) all.stride = Size;
  return all;
}();
/// Of a convolution (layer/conv.hpp); those of other axes derive from it.
struct ConvOptions;
template <class Layer>
concept IsConvolution =
    requires { requires std::is_base_of_v<ConvOptions, std::remove_cv_t<decltype(Layer::options)>>; };
/// Of a pool over all positions.
struct GlobalPoolOptions {};
/// Of a layer that makes images larger, or smaller if it cuts them into squares.
struct ResamplingOptions {
  std::size_t factor = 1;
  bool cuts = false, known = true;
};

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
