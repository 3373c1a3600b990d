// regimen/comm/communicator.hpp — what a step asks of the other ranks.
#pragma once

#include <cstddef>

namespace regimen {

/// A collective that was started. `wait` returns when its result may be used.
struct Pending final {
  constexpr void wait() const {}
};

/// One rank: every collective is already done. Stateless and free.
struct SoloRank final {
  static constexpr std::size_t rank() { return 0; }
  static constexpr std::size_t size() { return 1; }

  /// The unit whose parameters begin at `values`, whole on this rank.
  static constexpr Pending all_gather(auto&, std::size_t /*values*/) { return {}; }
  /// The gathered copy may go.
  static constexpr void release(auto&, std::size_t /*values*/) {}
  /// The gradients that begin at `gradients`, summed over all ranks, the rank's own slice on this one.
  static constexpr Pending reduce_scatter(auto&, std::size_t /*gradients*/) { return {}; }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
