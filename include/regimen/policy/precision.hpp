// regimen/policy/precision.hpp — which element types a step computes, keeps and reduces in.
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
///             last two also with Reduce = Compute: half the bytes on the wire, gradients rounded before they are
///             summed
///   default   Precision<fp32>
///   refuses   masters of 16 bits (bf16 loses an update below 2^-8 of its weight, half its resolution); masters
///             narrower than Compute; fp64 masters under anything but fp64; fp16 without a LossScale
///   cost      a 16-bit Compute halves the activations and adds a 16-bit copy of the weights beside the masters
///   tf32      everything is stored and summed in fp32; a layer's products (not those inside attention) round their
///             factors to 10 bits of mantissa, as tensor cores read them. Without it fp32 means fp32 on every device
///   effect    program/facts.hpp (Roles), walk/node.hpp (Roles)
///
/// Statistics, softmax, cross-entropy, sums inside an operation and final outputs are at least fp32 under all of them.
template <class Compute, class Master = stored_t<Compute>, class Reduce = Master>
struct Precision final {
  using axis = regimen::axis::precision;
  using compute = Compute;
  using master = Master;
  using reduce = Reduce;
};

/// The two mixed policies, by their names in Keras.
using mixed_bfloat16 = Precision<bf16, fp32>;
using mixed_float16 = Precision<fp16, fp32>;

/// A layer, not a policy: computes one layer of the model, or several in a row, in another element type, as in
/// `As<fp32, Linear<10>>`.
template <class T, class... Layers>
struct As;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
