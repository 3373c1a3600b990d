// regimen/rule/pieces_of_a_batch_are_meant.hpp — BatchNorm says so where it normalises pieces of a batch.
#pragma once

#include <regimen/rule/coupled_samples_stay_together.hpp>

namespace regimen::rule {

/// Each piece has statistics of its own: what trains is another network than the one of the whole batch.
/// Meant: whether the layer says PerMicroBatch.   docs/errors/pieces_of_a_batch_are_meant.md
template <class Layer, bool Meant, class Accumulate, class Communicator, class World>
struct pieces_of_a_batch_are_meant {
  static constexpr bool holds = Meant || !detail::cuts_the_batch<Accumulate, Communicator, World>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: BatchNorm is of a batch that ranks or Accumulate cut; write BatchNorm<PerMicroBatch>, or Batch<N> alone");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
