// regimen/engine/cpu/hash.hpp — a hash of bytes, on all cores.
#pragma once

#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/hash.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace regimen::cpu {

inline std::uint64_t hash_of_bytes(std::span<const std::byte> bytes) {
  return engines::hash_of_bytes(bytes, [](std::size_t chunks, const auto& body) { parallel_for(chunks, body); });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
