// regimen/policy/policy.hpp — the concept of a policy, and the axes that policies decide.
#pragma once

#include <concepts>
#include <type_traits>

namespace regimen {

/// One tag per axis. A recipe has at most one policy for each; rule/configuration.hpp has the defaults.
/// `decided_by<P>` gives a Configuration the member that names the policy of the axis: `Configuration::batch`.
namespace axis {
struct Axis {};
// clang-format off: one axis a line
struct precision final : Axis { template <class P> struct decided_by { using precision = P; }; };
struct loss_scale final : Axis { template <class P> struct decided_by { using loss_scale = P; }; };
struct checkpoint final : Axis { template <class P> struct decided_by { using checkpoint = P; }; };
struct batch final : Axis { template <class P> struct decided_by { using batch = P; }; };
struct accumulate final : Axis { template <class P> struct decided_by { using accumulate = P; }; };
struct clip final : Axis { template <class P> struct decided_by { using clip = P; }; };
struct optimizer final : Axis { template <class P> struct decided_by { using optimizer = P; }; };
struct loss final : Axis { template <class P> struct decided_by { using loss = P; }; };
struct device final : Axis { template <class P> struct decided_by { using device = P; }; };
struct target final : Axis { template <class P> struct decided_by { using target = P; }; };
struct communicator final : Axis { template <class P> struct decided_by { using communicator = P; }; };
struct shard final : Axis { template <class P> struct decided_by { using shard = P; }; };
struct seed final : Axis { template <class P> struct decided_by { using seed = P; }; };
struct debug final : Axis { template <class P> struct decided_by { using debug = P; }; };
struct freeze final : Axis { template <class P> struct decided_by { using freeze = P; }; };
struct init final : Axis { template <class P> struct decided_by { using init = P; }; };
struct fusion final : Axis { template <class P> struct decided_by { using fusion = P; }; };
struct attention final : Axis { template <class P> struct decided_by { using attention = P; }; };
struct convolution final : Axis { template <class P> struct decided_by { using convolution = P; }; };
struct world final : Axis { template <class P> struct decided_by { using world = P; }; };
struct steps final : Axis { template <class P> struct decided_by { using steps = P; }; };
struct graph final : Axis { template <class P> struct decided_by { using graph = P; }; };
// clang-format on
}  // namespace axis

#ifdef None  // X11's, a macro for 0: no name None could be. regimen.hpp puts it back at its end
#undef None
#endif
/// Switches an axis off: `Checkpoint<None>`, `Clip<None>`, `Debug<None>`, `LossScale<None>`.
struct None final {};

namespace detail {
template <class T, class... Ts>
inline constexpr bool is_any_of = (std::is_same_v<T, Ts> || ...);

/// An option of the policy that decides Axis; see belongs_to.
template <class Axis>
struct OptionOf {
  using option_of = Axis;
};

/// Whether T is an axis; T may be an undefined type.
template <class T>
inline constexpr bool is_axis = std::is_convertible_v<T*, axis::Axis*> && !std::is_same_v<T, axis::Axis>;

template <class T>
concept AnyOption = requires { typename T::option_of; };

/// Whether T is an option of the policy that decides Axis. With it the error for a bare `Every<2>` among the policies,
/// or for an `Optimizer<CrossEntropy>`, names the cure. An option declares `using option_of =
/// regimen::axis::checkpoint;`. An update rule, a loss or a target needs no such line: its members identify it;
/// policies list these.
template <class T, class Axis>
inline constexpr bool belongs_to = requires { requires std::same_as<typename T::option_of, Axis>; };

/// Policies, in any order, as members with the names of their axes.
template <class... Policies>
struct policies_by_axis : Policies::axis::template decided_by<Policies>... {};

/// Whether T is declared, and not defined; such a type is no option.
template <class T>
inline constexpr bool is_incomplete = !requires { sizeof(T); };
}  // namespace detail

/// A policy is a type that names the axis that it decides.
///
///   valid      struct Batch { using axis = regimen::axis::batch; … };
///   invalid    Every<2>: an option of Checkpoint, which is the policy
///   invalid    struct Mine { using axis = mine::axis; };   nothing reads this axis
template <class P>
concept Policy = std::is_class_v<P> && std::same_as<P, std::remove_cv_t<P>> && requires { typename P::axis; } &&
                 detail::is_axis<typename P::axis>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
