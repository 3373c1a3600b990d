// regimen/layer/window.hpp — options of layers whose outputs read windows of an image: values, as NoBias is.
#pragma once

#include <cstddef>

namespace regimen {

enum class StrideOption : std::size_t {};
enum class PaddingOption : std::size_t {};
/// Lines and columns from output to output.
template <std::size_t Size>
inline constexpr StrideOption Stride{Size};
/// Lines and columns on each side of the image: zeros, but for MaxPool, which leaves them out.
template <std::size_t Size>
inline constexpr PaddingOption Padding{Size};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
