// regimen/rule/coupled_samples_stay_together.hpp — a loss or layer that couples samples sees the whole batch.
#pragma once

#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/world.hpp>

#include <type_traits>

namespace regimen::detail {

/// Whether the batch of a step is computed in several pieces.
template <class Accumulate, class Communicator, class World>
inline constexpr bool cuts_the_batch = Accumulate::count > 1 ||
                                       (!std::is_same_v<typename Communicator::ranks, Solo> && World::ranks != 1);

/// Whether a loss gathers the samples of all ranks, so that these do not cut its batch.
template <class LossOrLayer>
inline constexpr bool gathers_samples = false;
template <class LossOrLayer>
  requires requires { LossOrLayer::gathers_samples; }
inline constexpr bool gathers_samples<LossOrLayer> = LossOrLayer::gathers_samples;

}  // namespace regimen::detail

namespace regimen::rule {

/// A loss that compares the samples of a batch, or a layer that normalises over them, gives
/// another result on a piece of it.
/// docs/errors/steps.md#coupled_samples_stay_together
template <class LossOrLayer, bool Couples, class Accumulate, class Communicator, class World>
struct coupled_samples_stay_together {
  static constexpr bool holds =
      !Couples || (detail::gathers_samples<LossOrLayer> ? Accumulate::count == 1
                                                        : !detail::cuts_the_batch<Accumulate, Communicator, World>);
  struct must_hold {
    static_assert(
        holds,
        "regimen: this couples the samples of a batch, and Accumulate, SimulateWorld or ranks cut it; use Batch<N> alone");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
