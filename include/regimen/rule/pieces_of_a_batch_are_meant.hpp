// regimen/rule/pieces_of_a_batch_are_meant.hpp — BatchNorm says so where it normalises pieces of a batch.
#pragma once

#include <regimen/rule/coupled_samples_stay_together.hpp>
#include <regimen/rule/coupling_is_declared.hpp>

#include <type_traits>

namespace regimen::detail {

/// Whether the layer means the pieces into which Accumulate and ranks cut the batch. One that joins ranks does not mean
/// those of SimulateWorld<N>, which are computed one after the other.
template <class Layer, class Accumulate>
inline constexpr bool means_pieces =
    joins_ranks<Layer> ? Accumulate::count == 1 ||
                             (takes_pieces<Layer> && !std::is_same_v<Accumulate, SimulateWorld<Accumulate::count>>)
                       : takes_pieces<Layer>;

}  // namespace regimen::detail

namespace regimen::rule {

/// Each piece has statistics of its own: what trains is another network than the one of the whole batch.
/// Meant: whether the layer says PerMicroBatch, or, where only ranks cut, OverRanks.
/// docs/errors/steps.md#pieces_of_a_batch_are_meant
template <class Layer, bool Meant, class Accumulate, class Communicator, class World>
struct pieces_of_a_batch_are_meant {
  static constexpr bool holds = Meant || !detail::cuts_the_batch<Accumulate, Communicator, World>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: BatchNorm is of a batch that is cut; among ranks write BatchNorm<OverRanks>, else BatchNorm<PerMicroBatch>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
