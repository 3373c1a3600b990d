// regimen/policy/fusion.hpp — whether adjacent layers are fused into one operation.
#pragma once

#include <regimen/policy/policy.hpp>

#include <type_traits>

namespace regimen {

struct Fused final : detail::OptionOf<axis::fusion> {};
struct Unfused final : detail::OptionOf<axis::fusion> {};
struct Separate final : detail::OptionOf<axis::fusion> {};

/// Decides whether adjacent layers become one operation, if they have a fused form. An epilogue is work that a product
/// does with its result before it writes it. On a device whose products have epilogues the policy also decides whether
/// products use them (Epilogue). Names of parameters do not change; results agree within rounding.
///
///   choices   Fusion<Fused>, Fusion<Unfused>; Epilogue<Separate>
///   default   Fusion<Fused>
///   cost      Unfused: writes and reads each intermediate tensor once more
///   effect    programs/facts.hpp (fusing_of), walk/fusion.hpp (fuses)
template <class Switch>
struct Fusion final {
  using axis = regimen::axis::fusion;
  static constexpr bool fuses = std::is_same_v<Switch, Fused>, epilogues = fuses, names_epilogues = false;
};

/// Decides, on a device whose products have epilogues, whether products compute the following themselves, or leave it
/// to kernels. Adjacent layers are fused in both cases.
///
///   bias         of a Linear
///   GeluTanh     after a Linear whose width is a multiple of 8: the product writes y, and, if backward follows, the
///                input of GeluTanh
///   derivative   of this GeluTanh, if the next layer is a Linear that is not frozen: a factor of its input's gradient
///   sum          of a Residual, if its branch ends with the Linear; of its gradients, if its branch begins with it.
///                Dropout and the backward of norms add such sums, too (docs/gpu.md has all)
///
/// Only a sum is also possible in fp64. Other activations stay kernels, which add the bias: of these cuBLASLt has only
/// Relu, and does not document its result for a NaN.
///
///   choices   Epilogue<Fused>, the same as Fusion<Fused>; Epilogue<Separate>
///   refuses   a device whose products have no epilogues: Device<Cpu>
///   effect    programs/facts.hpp (fusing_of), walk/fusion.hpp (fused_pair), walk/residual.hpp (Epilogues)
///   cost      Separate: writes and reads the output of a layer once more. In fp32 both have the same bits, with two
///             exceptions: a library whose tanh differs from the kernel's, and a product that adds a sum before the
///             bias. In 16 bits Separate rounds twice, Fused once. Fused: the input of GeluTanh is saved;
///             Checkpoint<Selective<...>> with one of the two layers computes their product once more
template <class Switch>
struct Epilogue final {
  using axis = regimen::axis::fusion;
  static constexpr bool fuses = true, epilogues = std::is_same_v<Switch, Fused>, names_epilogues = true;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
