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

/// Decides whether adjacent layers are replaced by their fused form, if they have one, and whether products have
/// epilogues (Epilogue), on a device that has them. Names of parameters do not change; results agree within rounding.
///
///   choices   Fusion<Fused>, Fusion<Unfused>; Epilogue<Separate>
///   default   Fusion<Fused>
///   cost      Unfused: writes and reads each intermediate tensor once more
///   effect    program/facts.hpp (fusing_of), walk/flatten.hpp (fuses)
template <class Switch>
struct Fusion final {
  using axis = regimen::axis::fusion;
  static constexpr bool fuses = std::is_same_v<Switch, Fused>, epilogues = fuses, names_epilogues = false;
};

/// The part of Fusion that is about products, for devices whose products have epilogues: adjacent layers are fused, and
/// products do themselves, or leave to kernels,
///   the bias of a Linear,
///   a GeluTanh behind a Linear whose width is a multiple of 8: the product writes y, and where backward follows what
///     GeluTanh was applied to,
  ///   the derivative of that GeluTanh, if the next layer is a Linear that is not frozen: a factor of its input's
  ///   gradient,
  ///   the sum of a Residual whose branch ends with that Linear, or begins with it: of its gradients; so do Dropout and
  ///   the backward of norms (docs/gpu.md has all).
  /// In at most fp32, but for sums. Other activations stay kernels, which add the bias: cuBLASLt has none of them, but for
  /// Relu, of which it does not say what it makes of a NaN.
  ///
  ///   choices   Epilogue<Fused>, as Fusion<Fused>; Epilogue<Separate>
  ///   refuses   a device whose products have none: Device<Cpu>
  ///   cost      Separate: writes and reads the output of a layer once more. Bits in fp32 are the same if the library's
  ///             tanh is the kernel's, but where a product adds a sum, then the bias; what has 16 bits is rounded twice in
  ///             place of once.
///             Fused: Checkpoint<Selective<...>> with one of two such layers computes their product once more, and what
///             GeluTanh was applied to is saved
  ///   effect    program/facts.hpp (fusing_of), walk/flatten.hpp (Applier, Deriver), walk/residual.hpp (Epilogues)
template <class Switch>
struct Epilogue final {
  using axis = regimen::axis::fusion;
  static constexpr bool fuses = true, epilogues = std::is_same_v<Switch, Fused>, names_epilogues = true;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
