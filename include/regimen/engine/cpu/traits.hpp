// regimen/engine/cpu/traits.hpp — what a plan must know of the CPU engine.
#pragma once

#include <regimen/core/operation.hpp>

#include <cstddef>

namespace regimen::cpu {

/// Row chunks of a reduction over rows: a constant, so that results do not depend on the number of threads.
inline constexpr std::size_t norm_chunks = 16;

struct Traits {
  /// The arena is memory that the host may read and write between calls: Engine::data(view).
  static constexpr bool is_host_memory = true;

  /// Bytes that the kernel of an operation needs beside its tensors.
  template <class Operation>
  static constexpr std::size_t scratch(const Operation&) {
    return 0;
  }
  /// The chunks' sums of both gradients.
  template <bool Centered, class T, class G>
  static constexpr std::size_t scratch(const op::NormalizeBackward<Centered, T, G>& o) {
    return o.d_gain.is_absent() ? 0 : norm_chunks * 2 * o.columns * sizeof(statistic_t<T>);
  }
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
