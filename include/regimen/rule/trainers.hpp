// regimen/rule/trainers.hpp — rules about trainers: objects, and steps written by hand.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/debug.hpp>
#include <regimen/programs/groups.hpp>

namespace regimen::rule {

/// A Trainer owns one arena, one communicator, and the collectives in flight.
/// docs/errors/trainers.md#trainer_is_not_copied
template <class Trainer, class Given>
struct trainer_is_not_copied {
  static constexpr bool holds = never<Given>;
  struct must_hold {
    static_assert(
        holds, "regimen: a Trainer is neither copied nor moved; pass it by reference, or keep it in a std::unique_ptr");
  };
};

/// Inputs alone have no loss.   docs/errors/trainers.md#step_takes_targets
template <class Inputs>
struct step_takes_targets {
  static constexpr bool holds = never<Inputs>;
  struct must_hold {
    static_assert(
        holds, "regimen: a step takes inputs and targets; write step(inputs, targets), or predict(inputs) for outputs");
  };
};

/// A braced list has no address.   docs/errors/trainers.md#data_lies_somewhere
template <class Data>
struct data_lies_somewhere {
  static constexpr bool holds = never<Data>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a step reads data where they lie; put the numbers into a std::vector of Train::Input or Train::Label first");
  };
};

/// A loss and its gradients are different types; only backward turns a loss into gradients.
/// docs/errors/trainers.md#apply_needs_backward
template <class Loss>
struct apply_needs_backward {
  static constexpr bool holds = never<Loss>;
  struct must_hold {
    static_assert(holds, "regimen: this loss has no gradients yet; call backward between forward and apply");
  };
};

/// Without the scale, small gradients would underflow.   docs/errors/trainers.md#backward_needs_scaled_loss
template <class LossScale>
struct backward_needs_scaled_loss {
  static constexpr bool holds = !LossScale::scales;
  struct must_hold {
    static_assert(holds, "regimen: backward takes a scaled loss under LossScale<...>; call scale before backward");
  };
};

/// Gradients of a scaled loss are a type of their own; only unscale turns them into gradients.
/// docs/errors/trainers.md#scaled_gradients_need_unscale
template <class Gradients>
struct scaled_gradients_need_unscale {
  static constexpr bool holds = never<Gradients>;
  struct must_hold {
    static_assert(holds, "regimen: these gradients still carry the loss scale; call unscale before apply");
  };
};

/// UpdateRule, or that of a group, is Averaged<...>.   docs/errors/trainers.md#averages_are_kept
template <class UpdateRule>
struct averages_are_kept {
  static constexpr bool holds = programs::keeps_averages<UpdateRule>;
  struct must_hold {
    static_assert(holds, "regimen: this Trainer keeps no averages of weights; write Optimizer<Averaged<AdamW>>");
  };
};

/// Without Debug<Profile> a Trainer measures nothing.   docs/errors/trainers.md#profile_needs_debug
template <class Debug>
struct profile_needs_debug {
  static constexpr bool holds = Debug::template uses<Profile>;
  struct must_hold {
    static_assert(holds, "regimen: profile() reads what Debug<Profile> measures; add Debug<Profile> to the policies");
  };
};

/// launch, comm::Tcp and comm::Mpi provide it.   docs/errors/trainers.md#communicator_is_given
template <class Communicator>
struct communicator_is_given {
  static constexpr bool holds = Communicator::ranks::is_alone;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a recipe with Communicator<...> needs a communicator object; write Train trainer(communicator)");
  };
};

/// Given is a communicator of the kind that Communicator<...> names.   docs/errors/trainers.md#communicator_matches
template <class Given, class Communicator>
struct communicator_matches {
  static constexpr bool holds = is_given_for<Given, typename Communicator::ranks>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this communicator is not the one that the recipe names; write its Communicator<...>, or hand over another");
  };
};

/// regimen/engine/cuda/plan.hpp has what Trainer<...>::plan() needs, in any compiler.
/// docs/errors/trainers.md#device_runs_here
template <class Device, bool runs>
struct device_runs_here {
  static constexpr bool holds = runs;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this program only plans for this Device; include regimen/engine/cuda/device.hpp, and compile with nvcc or link regimen::cuda_compiled");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
