// regimen/policy/fusion.hpp — whether adjacent layers are fused into one operation.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

struct Fused final {
  using option_of = regimen::axis::fusion;
};
struct Unfused final {
  using option_of = regimen::axis::fusion;
};

/// Decides whether adjacent layers are replaced by their fused form, if they have one. Names of parameters do not
/// change; results agree within rounding.
///
///   choices   Fusion<Fused>, Fusion<Unfused>
///   default   Fusion<Fused>
///   cost      Unfused: writes and reads each intermediate tensor once more
template <class Switch>
struct Fusion final {
  using axis = regimen::axis::fusion;
  static constexpr bool fuses = std::is_same_v<Switch, Fused>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
