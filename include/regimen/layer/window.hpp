// regimen/layer/window.hpp — options of layers whose outputs read windows of an image: values, like NoBias.
#pragma once

#include <cstddef>

namespace regimen {

enum class StrideOption : std::size_t {};
enum class PaddingOption : std::size_t {};
/// The distance of the windows of neighbouring outputs, in lines and columns.
template <std::size_t Size>
inline constexpr StrideOption Stride{Size};
/// Lines and columns of zeros on each side of the image. MaxPool ignores these pixels.
template <std::size_t Size>
inline constexpr PaddingOption Padding{Size};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
