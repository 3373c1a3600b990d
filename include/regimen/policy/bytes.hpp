// regimen/policy/bytes.hpp — literals for sizes of memory: 80_GiB.
#pragma once

#include <cstddef>

namespace regimen {

constexpr std::size_t operator""_KiB(unsigned long long count) { return static_cast<std::size_t>(count) << 10; }
constexpr std::size_t operator""_MiB(unsigned long long count) { return static_cast<std::size_t>(count) << 20; }
constexpr std::size_t operator""_GiB(unsigned long long count) { return static_cast<std::size_t>(count) << 30; }

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
