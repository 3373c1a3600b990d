// regimen/core/align.hpp — where tensors may begin.
#pragma once

#include <cstddef>

namespace regimen {

/// Every tensor of an arena begins at a multiple of these bytes.
inline constexpr std::size_t tensor_alignment = 256;
constexpr std::size_t aligned_bytes(std::size_t bytes) {
  return (bytes + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
