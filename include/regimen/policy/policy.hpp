// regimen/policy/policy.hpp — what a policy is, and the axes that policies decide.
#pragma once

#include <concepts>
#include <type_traits>

namespace regimen {

/// One tag per decision. A recipe holds at most one policy for each; compose.hpp fills in the others.
namespace axis {
struct precision;
struct loss_scale;
struct checkpoint;
struct batch;
struct accumulate;
struct clip;
struct optimizer;
struct loss;
struct device;
struct target;
struct communicator;
struct shard;
struct seed;
struct debug;
struct freeze;
struct init;
struct fusion;
struct world;
}  // namespace axis

/// Switches an axis off: `Checkpoint<None>`, `Clip<None>`, `Debug<None>`, `LossScale<None>`.
struct None final {};

namespace detail {
template <class T, class... Ts>
inline constexpr bool is_any_of = (std::is_same_v<T, Ts> || ...);

template <class Axis>
inline constexpr bool is_axis = is_any_of<Axis, axis::precision, axis::loss_scale, axis::checkpoint, axis::batch, axis::accumulate, axis::clip,
                                          axis::optimizer, axis::loss, axis::device, axis::target, axis::communicator, axis::shard, axis::seed,
                                          axis::debug, axis::freeze, axis::init, axis::fusion, axis::world>;

template <class T>
concept AnyOption = requires { typename T::option_of; };

/// Whether T is an option of the policy that decides Axis, so that a bare `Every<2>` among the policies, or an `Optimizer<CrossEntropy>`, gets
/// the sentence that cures it. An option says so: `using option_of = regimen::axis::checkpoint;`. Update rules, losses and targets are
/// known by what they offer; see their policies.
template <class T, class Axis>
inline constexpr bool belongs_to = requires { requires std::same_as<typename T::option_of, Axis>; };

/// Declared and not defined yet: nothing can be said about it.
template <class T>
inline constexpr bool is_incomplete = !requires { sizeof(T); };
}  // namespace detail

/// A policy is a type that says one thing: it names the axis that it decides.
///
///   valid      struct Batch { using axis = regimen::axis::batch; … };
///   invalid    Every<2>: an option of Checkpoint, which is the policy
///   invalid    struct Mine { using axis = mine::axis; };   nothing reads that axis, so nothing would happen
template <class P>
concept Policy = std::is_class_v<P> && std::same_as<P, std::remove_cv_t<P>> && requires { typename P::axis; } && detail::is_axis<typename P::axis>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
