// regimen/rule/extensions.hpp — rules about extensions: layers, combinators and operations of a program's own.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/engine/plan/engine.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/programs/facts.hpp>
#include <regimen/walk/walk.hpp>

#include <boost/mp11/list.hpp>

#include <concepts>

namespace regimen::rule {

/// The members of a bound layer that a walk uses and LayerDefaults lacks.
template <class Bound>
concept GoesBothWays = requires(walk::Walk<planning::Engine<planning::AnyTraits>>& engine,
                                const ForwardCall<Bound::Saved::count, Bound::ForwardScratch::count>& forward,
                                const BackwardCall<Bound::Saved::count, Bound::BackwardScratch::count>& backward) {
  typename Bound::Output::Shape;
  Bound::forward(engine, forward);
  Bound::backward(engine, backward);
};

/// Its Bound is GoesBothWays.   docs/errors/extensions.md#layer_goes_both_ways
template <class Layer>
struct layer_goes_both_ways {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a layer's Bound<X, Roles> has Output, forward(engine, call) and backward(engine, call); give it all three");
  };
};

/// Whether T declares if its result for a sample depends on the other samples of the batch.
template <class T>
concept SaysWhetherItCouples = requires {
  { T::couples_samples } -> std::convertible_to<bool>;
};

/// Whether T declares that its result does depend on them.
template <class T>
inline constexpr bool couples_samples = false;
template <SaysWhetherItCouples T>
inline constexpr bool couples_samples<T> = T::couples_samples;

/// Whether it says that pieces of a batch are meant: `takes_pieces`, as BatchNorm<PerMicroBatch> does.
template <class T>
inline constexpr bool takes_pieces = false;
template <class T>
  requires requires { T::takes_pieces; }
inline constexpr bool takes_pieces<T> = T::takes_pieces;

/// Whether it sees the samples of all ranks: `joins_ranks`, as BatchNorm<OverRanks> does.
template <class T>
inline constexpr bool joins_ranks = false;
template <class T>
  requires requires { T::joins_ranks; }
inline constexpr bool joins_ranks<T> = T::joins_ranks;

/// There is no default: Accumulate and ranks cut batches of independent samples, and a wrong
/// guess would change the result.
/// docs/errors/extensions.md#coupling_is_declared
template <class Layer>
struct coupling_is_declared {
  static constexpr bool holds = SaysWhetherItCouples<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a layer says whether it couples the samples of a batch; add static constexpr bool couples_samples");
  };
};

/// A loss has no default either.   docs/errors/extensions.md#coupling_is_declared_loss
template <class Loss>
struct coupling_is_declared_by_loss {
  static constexpr bool holds = SaysWhetherItCouples<Loss>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a loss says whether it couples the samples of a batch; add static constexpr bool couples_samples");
  };
};

/// Whether a combinator has a walker. What policies decide of a walk does not matter: these facts are the simplest.
struct NothingShared {
  using Tied = boost::mp11::mp_list<>;
  using Named = boost::mp11::mp_list<>;
};
template <class Compute>
using PlainContext = walk::ContextOf<programs::InferenceFacts<Compute, 1, 1, programs::Fusing<false, op::NoEpilogues>>,
                                     NothingShared, Compute, false>;
template <class Layer, class X, class Roles>
inline constexpr bool is_walked = walk::Walks<walk::Node<Layer, X, PlainContext<typename Roles::computed>, true>,
                                              walk::Walk<planning::Engine<planning::AnyTraits>>>;
/// walk/node.hpp lists a walker's members.   docs/errors/extensions.md#combinator_has_walker
template <class Layer, class X, class Roles>
struct combinator_has_walker {
  static constexpr bool holds = is_walked<Layer, X, Roles>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a combinator has no walker, or a part of one; specialise walk::Node with all that walk/node.hpp lists");
  };
};

/// A plan adds costs up, a profile shows names.   docs/errors/extensions.md#operation_says_cost
template <class Owner>
struct operation_says_cost {
  static constexpr bool holds = never<Owner>;
  struct must_hold {
    static_assert(holds, "regimen: an operation of this has no name, or no constexpr Cost cost() const; give it both");
  };
};

/// An operation of a program's own is computed by a function of its own namespace, which is declared before the first
/// Trainer that needs it.   docs/errors/extensions.md#operation_has_compute
template <class Owner, class Device>
struct operation_has_compute {
  static constexpr bool holds = never<Owner>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an operation of this has no compute(operation, cpu::Memory) for the CPU; write it in the operation's namespace");
  };
};

/// An operation of a program's own needs a form for each device: compute() for the CPU, a Kernel for a GPU.
/// docs/errors/extensions.md#operation_has_kernel
template <class Owner, class Device>
struct operation_has_kernel {
  static constexpr bool holds = never<Owner>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an operation of this has no Kernel for a GPU; specialise regimen::kernel::Kernel, or write Device<Cpu>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
