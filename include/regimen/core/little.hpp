// regimen/core/little.hpp — numbers in little-endian order, as files have them.
#pragma once

#include <cstddef>

namespace regimen::detail {

/// The unsigned number T that is written at `at`.
template <class T>
T little(const std::byte* at) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | std::to_integer<T>(at[i]));
  return value;
}
/// Writes an unsigned number at `at`.
template <class T>
void put_little(std::byte* at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
