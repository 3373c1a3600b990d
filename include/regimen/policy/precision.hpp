// regimen/policy/precision.hpp — the element types of computing, master weights and reductions.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/policy/policy.hpp>

namespace regimen {

/// Decides the element types of the whole model; `As<T, Layer>` overrides one layer.
///
///   Compute   activations, their gradients and the copy of the weights that products read
///   Master    the weights that the optimizer updates, and its state
///   Reduce    the type in which gradients are sent and summed over ranks
///
///   choices   Precision<fp64>, Precision<fp32>, Precision<tf32>, Precision<bf16, fp32>, Precision<fp16, fp32>; the
///             last two also with Reduce = Compute: ranks send half the bytes, and round gradients before they sum them
///   default   Precision<fp32>
///   refuses   masters of 16 bits (bf16 loses an update below 2^-8 of its weight, half of its rounding step); masters
///             narrower than Compute; fp64 masters with a Compute other than fp64; fp16 without a LossScale
///   cost      a 16-bit Compute halves the activations and adds a 16-bit copy of the weights to the masters
///   tf32      all tensors are stored and summed in fp32; a layer's products, except those inside attention, round
///             their factors to 10 bits of mantissa, as tensor cores do. Under Precision<fp32> all devices compute in
///             fp32
///   effect    programs/facts.hpp (Roles), walk/node.hpp (Roles)
///
/// Under every choice statistics, softmax, cross-entropy, sums inside an operation and final outputs are at least fp32.
template <class Compute, class Master = stored_t<Compute>, class Reduce = Master>
struct Precision final {
  using axis = regimen::axis::precision;
  using compute = Compute;
  using master = Master;
  using reduce = Reduce;
};

/// The two mixed policies by their Keras names.
using mixed_bfloat16 = Precision<bf16, fp32>;
using mixed_float16 = Precision<fp16, fp32>;

/// A layer, not a policy: computes one layer of the model, or several in a row, in another element type, as in
/// `As<fp32, Linear<10>>`.
template <class T, class... Layers>
struct As;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
