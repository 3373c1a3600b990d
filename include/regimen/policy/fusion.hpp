// regimen/policy/fusion.hpp — whether neighbours become one operation.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

struct On final {
  using option_of = regimen::axis::fusion;
};
struct Off final {
  using option_of = regimen::axis::fusion;
};

/// Decides whether adjacent layers that have a fused form are replaced by it. Names of parameters do not change; results agree within
/// rounding.
///
///   choices   Fusion<On>, Fusion<Off>
///   default   Fusion<On>
///   cost      Off writes and reads each intermediate once more
template <class Switch>
struct Fusion final {
  using axis = regimen::axis::fusion;
  static constexpr bool on = std::is_same_v<Switch, On>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
