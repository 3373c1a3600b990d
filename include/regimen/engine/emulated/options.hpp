// regimen/engine/emulated/options.hpp — how an emulated device behaves.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace regimen::emulated {

/// How the device of an engine behaves.
///   seed      decides when work runs, and in which order the threads of a block
///   fibers    every kernel by blocks of as many threads as on a GPU, with checked barriers; otherwise by one thread a
///             block, which is a hundred times faster and adds in another order
///   memory    bytes of the device
///   patience  how long a collective waits for the other ranks; NCCL's waits until it is aborted
///   alignment products must promise that their matrices begin at multiples of so many bytes; the library demands none
struct Options {
  std::uint64_t seed = 1;
  bool fibers = false;
  std::size_t memory = std::size_t{4} << 30;
  std::uint32_t alignment = 1;
  std::chrono::milliseconds patience = std::chrono::seconds(60);
};

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
