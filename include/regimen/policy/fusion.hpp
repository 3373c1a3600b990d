// regimen/policy/fusion.hpp — whether adjacent layers are fused into one operation.
#pragma once

#include <regimen/policy/policy.hpp>

#include <type_traits>

namespace regimen {

struct Fused final {
  using option_of = regimen::axis::fusion;
};
struct Unfused final {
  using option_of = regimen::axis::fusion;
};

struct Separate final {
  using option_of = regimen::axis::fusion;
};

/// Decides whether adjacent layers are replaced by their fused form, if they have one, and whether a product adds the
/// bias behind it, on a device whose products can (Epilogue). Names of parameters do not change; results agree within
/// rounding.
///
///   choices   Fusion<Fused>, Fusion<Unfused>; Epilogue<Separate>
///   default   Fusion<Fused>
///   cost      Unfused: writes and reads each intermediate tensor once more
template <class Switch>
struct Fusion final {
  using axis = regimen::axis::fusion;
  static constexpr bool fuses = std::is_same_v<Switch, Fused>, epilogues = fuses, names_epilogues = false;
};

/// The part of Fusion that is about products, for devices whose products have epilogues: adjacent layers are fused, and
/// products add the bias themselves, or leave it to a kernel. A bias that an activation adds stays with the activation.
///
///   choices   Epilogue<Fused>, as Fusion<Fused>; Epilogue<Separate>
///   refuses   a device whose products have none: Device<Cpu>
///   cost      Separate: writes and reads the output of a layer once more. Bits in fp32 are the same; a 16-bit output is
///             rounded twice in place of once
template <class Switch>
struct Epilogue final {
  using axis = regimen::axis::fusion;
  static constexpr bool fuses = true, epilogues = std::is_same_v<Switch, Fused>, names_epilogues = true;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
