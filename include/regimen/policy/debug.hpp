// regimen/policy/debug.hpp — checks inside a step. They cost time: measure no run with them.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

/// Checks the result of each layer, forward and backward: throws Error with the path of the first layer that produced a
/// NaN or an infinity.
struct Anomaly final : detail::OptionOf<axis::debug> {};

/// Measures every operation, and the copies between host and device: the Trainer's `profile()` gives a table of both,
/// and a Chrome trace of the operations.
struct Profile final : detail::OptionOf<axis::debug> {};

/// The host waits for each operation and each copy of a device that runs them asynchronously. An error of the device
/// then names the operation and the layer, or the copy; without Synchronous the error appears at a later wait, and
/// names neither.
struct Synchronous final : detail::OptionOf<axis::debug> {};

/// Decides which checks run inside the step.
///
///   choices   Debug<None>, or any of Anomaly, Profile and Synchronous: Debug<Anomaly, Profile>
///   default   Debug<None>
///   refuses   None together with a check; Synchronous on Device<Cpu>, where every operation ends before the next
///             begins; benchmarks refuse every check
///   cost      Anomaly: one more read of every activation and gradient. Profile: two clock readings per operation.
///             Synchronous, and Profile on a GPU: no graph, and a wait for each operation. A program with Debug prints
///             this when it starts, and in its log
///   effect    programs/recipe.hpp (Anomaly), walk/walk.hpp (checks_finite), trainers/session.hpp (Profile,
///             Synchronous)
///
///   checks            whether any check runs
///   uses<Check>       whether this check runs
template <class... Checks>
struct Debug final {
  using axis = regimen::axis::debug;
  template <class Check>
  static constexpr bool uses = detail::is_any_of<Check, Checks...>;
  static constexpr bool checks = sizeof...(Checks) > 0 && !uses<None>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
