// regimen/engine/cpu/traits.hpp — the facts about the CPU engine that a plan needs.
#pragma once

#include <regimen/core/align.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/policy/attention.hpp>

#include <cstddef>

namespace regimen::cpu {

/// Row chunks of a reduction over rows: a constant, so that results do not depend on the number of threads.
inline constexpr std::size_t norm_chunks = 16;

struct Traits : engine::DefaultTraits {
  using attention = Tiled;

  /// The host may read and write the arena between calls, by Engine::data(view).
  static constexpr bool is_host_memory = true;
  /// The host copies a micro-batch in turn, unless several steps run in one recording.
  static constexpr std::size_t input_slots(std::size_t micro_batches) { return micro_batches > 1 ? micro_batches : 0; }

  /// Workspace of an operation's kernel, in bytes.
  template <class Operation>
  static constexpr std::size_t scratch(const Operation&) {
    return 0;
  }
  /// The rounded copies of both factors.
  template <class C>
  static constexpr std::size_t scratch(const op::Product<tf32, tf32, C>& o) {
    return aligned(o.m * o.k * sizeof(fp32)) + aligned(o.k * o.n * sizeof(fp32));
  }
  /// Workspace for the chunks' sums of both gradients.
  template <bool Centered, class T, class G>
  static constexpr std::size_t scratch(const op::NormalizeBackward<Centered, T, G>& o) {
    return o.d_gain.is_absent() ? 0 : norm_chunks * 2 * o.columns * sizeof(statistic_t<T>);
  }
  /// The same of a batch; or the statistics that are used, in their type.
  template <class T, class B>
  static constexpr std::size_t scratch(const op::BatchNorm<T, B>& o) {
    using S = statistic_t<T>;
    return o.uses_running ? 2 * o.columns * sizeof(S) : o.chunks().template bytes<S>();
  }
  template <class T, class G>
  static constexpr std::size_t scratch(const op::BatchNormBackward<T, G>& o) {
    return o.chunks().template bytes<statistic_t<T>>();
  }
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
