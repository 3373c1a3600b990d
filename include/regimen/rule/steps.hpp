// regimen/rule/steps.hpp — rules about steps: batch, accumulation, launches, and checks of what is computed.
#pragma once

#include <regimen/engine/plan/devices.hpp>
#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/batch.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/debug.hpp>
#include <regimen/policy/world.hpp>
#include <regimen/rule/extensions.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// A step without a micro-batch has no gradient.   docs/errors/steps.md#accumulate_at_least_one
template <class Accumulate>
struct accumulate_at_least_one {
  static constexpr bool holds = Accumulate::count >= 1;
  struct must_hold {
    static_assert(holds, "regimen: Accumulate<N> needs N >= 1; write Accumulate<1>, or leave it out");
  };
};

/// A batch without samples has no loss.   docs/errors/steps.md#batch_at_least_one
template <class Batch>
struct batch_at_least_one;

template <auto N>
struct batch_at_least_one<Batch<N>> {
  static constexpr bool holds = [] {
    if constexpr (std::is_same_v<decltype(N), BatchSize>) return true;
    else if constexpr (std::is_integral_v<decltype(N)> && !std::is_same_v<decltype(N), bool>) return N >= 1;
    else return false;
  }();
  struct must_hold {
    static_assert(holds, "regimen: Batch<N> needs N >= 1; write Batch<32>, or Batch<Largest> with a Target");
  };
};

template <std::size_t N>
struct batch_at_least_one<GlobalBatch<N>> {
  static constexpr bool holds = N >= 1;
  struct must_hold {
    static_assert(holds, "regimen: GlobalBatch<N> needs N >= 1; a global batch of zero samples trains nothing");
  };
};

/// A global batch is cut into World × Accumulate equal micro-batches.
/// docs/errors/steps.md#global_batch_divides
template <class GlobalBatch, class World, class Accumulate>
struct global_batch_divides {
  static constexpr auto divisor = World::ranks * Accumulate::count;
  // nvcc warns about a remainder by zero, even in a branch that is not taken.
  static constexpr bool holds =
      GlobalBatch::global == 0 || (divisor > 0 && GlobalBatch::global % (divisor > 0 ? divisor : 1) == 0);
  struct must_hold {
    static_assert(
        holds,
        "regimen: GlobalBatch<N> is cut into World<R> times Accumulate<K> equal parts; name the World, and an N that these divide");
  };
};

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

/// A loss that compares the samples of a batch, or a layer that normalises over them, gives
/// another result on a piece of it.
/// docs/errors/steps.md#coupled_samples_stay_together
template <class LossOrLayer, class Accumulate, class Communicator, class World>
struct coupled_samples_stay_together {
  static constexpr bool holds =
      !couples_samples<LossOrLayer> ||
      (gathers_samples<LossOrLayer> ? Accumulate::count == 1 : !cuts_the_batch<Accumulate, Communicator, World>);
  struct must_hold {
    static_assert(
        holds,
        "regimen: this couples the samples of a batch, and Accumulate, SimulateWorld or ranks cut it; use Batch<N> alone");
  };
};

/// Whether the layer means the pieces into which Accumulate and ranks cut the batch: it says PerMicroBatch, or, where
/// only ranks cut, OverRanks. One that joins ranks does not mean those of SimulateWorld<N>, which are
/// computed one after the other.
template <class Layer, class Accumulate>
inline constexpr bool means_pieces =
    joins_ranks<Layer> ? Accumulate::count == 1 ||
                             (takes_pieces<Layer> && !std::is_same_v<Accumulate, SimulateWorld<Accumulate::count>>)
                       : takes_pieces<Layer>;

/// Each piece has statistics of its own: what trains is another network than the one of the whole batch.
/// docs/errors/steps.md#pieces_of_a_batch_are_meant
template <class Layer, class Accumulate, class Communicator, class World>
struct pieces_of_a_batch_are_meant {
  static constexpr bool holds = means_pieces<Layer, Accumulate> || !cuts_the_batch<Accumulate, Communicator, World>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: BatchNorm is of a batch that is cut; among ranks write BatchNorm<OverRanks>, else BatchNorm<PerMicroBatch>");
  };
};

/// A bound of zero turns every gradient into zero; a denominator of zero gives no number.
/// docs/errors/steps.md#clip_above_zero
template <class Clip>
struct clip_above_zero {
  static constexpr bool holds = !Clip::clips || Clip::bound > 0.0f;
  struct must_hold {
    static_assert(holds, "regimen: Clip<Norm<Ratio<...>>> needs a bound above zero; write Clip<Norm<Ratio<1>>>");
  };
};

/// A launch without a step would train nothing.   docs/errors/steps.md#steps_at_least_one
template <class Steps>
struct steps_at_least_one {
  static constexpr bool holds = Steps::count >= 1;
  struct must_hold {
    static_assert(holds, "regimen: Steps<K> needs K >= 1; write Steps<1>, or leave it out");
  };
};

/// The step that finds an anomaly ends the run; further steps of its launch would train on.
/// docs/errors/steps.md#anomaly_ends_a_launch
template <class Steps, class Debug>
struct anomaly_ends_a_launch {
  static constexpr bool holds = Steps::count <= 1 || !Debug::template uses<Anomaly>;
  struct must_hold {
    static_assert(holds, "regimen: Debug<Anomaly> stops at the step that finds one; it needs Steps<1>");
  };
};

/// Debug<None, Anomaly> contradicts itself.   docs/errors/steps.md#debug_none_stands_alone
template <class Debug>
struct debug_none_stands_alone;

template <class... Checks>
struct debug_none_stands_alone<Debug<Checks...>> {
  static constexpr bool holds = sizeof...(Checks) < 2 || !detail::is_any_of<None, Checks...>;
  struct must_hold {
    static_assert(holds, "regimen: Debug<...> takes None or checks, not both; take None out");
  };
};

/// On the CPU every operation ends before the next begins.   docs/errors/steps.md#synchronous_needs_queue
template <class Debug, class Device>
struct synchronous_needs_queue {
  static constexpr bool holds =
      !Debug::template uses<Synchronous> || engines::TraitsOf<typename Device::where>::has_graphs;
  struct must_hold {
    static_assert(holds,
                  "regimen: this Device<...> ends every operation before the next; leave Debug<Synchronous> out");
  };
};

/// A check reads every activation once more, so its time would count as the step's.
/// docs/errors/steps.md#measured_run_has_no_debug
template <class Debug>
struct measured_run_has_no_debug {
  static constexpr bool holds = !Debug::checks;
  struct must_hold {
    static_assert(holds, "regimen: Debug<...> slows the run that this program measures; take it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
