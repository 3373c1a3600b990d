// regimen/core/view.hpp — where a tensor lies in the arena, and where it may begin.
#pragma once

#include <regimen/core/hd.hpp>

#include <cstddef>

namespace regimen {

/// Every tensor of an arena begins at a multiple of these bytes.
inline constexpr std::size_t tensor_alignment = 256;
constexpr std::size_t aligned_bytes(std::size_t bytes) {
  return (bytes + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
}

/// Owns nothing and may be copied freely: an offset from the arena's beginning, in bytes. A default view is absent;
/// an engine refuses to read it, so a layer cannot touch a tensor that it did not declare.
template <class T>
struct View final {
  static constexpr std::size_t absent = ~std::size_t{0};
  std::size_t offset = absent;

  REGIMEN_HD constexpr bool is_absent() const { return offset == absent; }
  /// The view that begins `elements` later.
  constexpr View operator+(std::size_t elements) const {
    return {is_absent() ? absent : offset + elements * sizeof(T)};
  }
};

/// Offsets from here on lie beyond every arena: in memory that another engine has lent, counted from its beginning.
inline constexpr std::size_t lent_memory = std::size_t{1} << 60;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
