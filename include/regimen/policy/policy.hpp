// regimen/policy/policy.hpp — the concept of a policy, and the axes that policies decide.
#pragma once

#include <concepts>
#include <type_traits>

namespace regimen {

/// One tag per axis. A recipe has at most one policy for each; verdict/compose.hpp fills in the defaults.
namespace axis {
struct Axis {};
struct precision final : Axis {};
struct loss_scale final : Axis {};
struct checkpoint final : Axis {};
struct batch final : Axis {};
struct accumulate final : Axis {};
struct clip final : Axis {};
struct optimizer final : Axis {};
struct loss final : Axis {};
struct device final : Axis {};
struct target final : Axis {};
struct communicator final : Axis {};
struct shard final : Axis {};
struct seed final : Axis {};
struct debug final : Axis {};
struct freeze final : Axis {};
struct init final : Axis {};
struct fusion final : Axis {};
struct world final : Axis {};
}  // namespace axis

/// Switches an axis off: `Checkpoint<None>`, `Clip<None>`, `Debug<None>`, `LossScale<None>`.
struct None final {};

namespace detail {
template <class T, class... Ts>
inline constexpr bool is_any_of = (std::is_same_v<T, Ts> || ...);

/// Whether T is an axis; T may be an undefined type.
template <class T>
inline constexpr bool is_axis = std::is_convertible_v<T*, axis::Axis*> && !std::is_same_v<T, axis::Axis>;

template <class T>
concept AnyOption = requires { typename T::option_of; };

/// Whether T is an option of the policy that decides Axis. So the error for a bare `Every<2>` among the policies, or
/// for an `Optimizer<CrossEntropy>`, can name the cure. An option declares `using option_of =
/// regimen::axis::checkpoint;`. Update rules, losses and targets are recognised by their
/// members; their policies list these.
template <class T, class Axis>
inline constexpr bool belongs_to = requires { requires std::same_as<typename T::option_of, Axis>; };

/// A type that is declared but not defined is no option.
template <class T>
inline constexpr bool is_incomplete = !requires { sizeof(T); };
}  // namespace detail

/// A policy is a type that names the axis that it decides.
///
///   valid      struct Batch { using axis = regimen::axis::batch; … };
///   invalid    Every<2>: an option of Checkpoint, which is the policy
///   invalid    struct Mine { using axis = mine::axis; };   nothing reads that axis, so nothing would happen
template <class P>
concept Policy = std::is_class_v<P> && std::same_as<P, std::remove_cv_t<P>> && requires { typename P::axis; } && detail::is_axis<typename P::axis>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
