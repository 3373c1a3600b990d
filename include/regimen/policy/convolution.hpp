// regimen/policy/convolution.hpp — by which kernels convolutions are computed.
#pragma once

#include <regimen/policy/attention.hpp>
#include <regimen/policy/policy.hpp>

namespace regimen {

/// Kernels of plain loops: a thread computes one number.
struct Direct final {
  using option_of = regimen::axis::convolution;
};

namespace detail {
template <>
inline constexpr bool belongs_to<OfDevice, axis::convolution> = true;
template <>
inline constexpr bool belongs_to<Cudnn, axis::convolution> = true;
}  // namespace detail

/// Decides the form in which a GPU computes convolutions: Conv1d, Conv2d, Conv3d and ConvTranspose2d, forward and
/// backward. One of a single pixel, which is a product, has no other form. Like Attention<...>, it says how a device
/// computes, and not what: a recipe has it for models without convolutions, too, where it changes no result.
///
///   choices   Convolution<Direct>, Convolution<Cudnn>
///   default   Convolution<>: the device's own form; Direct on GPUs
///   refuses   a form that the device lacks; Cudnn where the program is compiled without it
///   error     Direct rounds a sum once. Cudnn rounds it before it adds the bias, and once more then; in 16 bits the
///             gradient of a weight once more in that type, before it is added to the wider one. It sums in at least
///             fp32, in a fixed order, and reads fp32 as fp32: of its engines those are chosen whose notes say nothing
///             else
///   cost      Cudnn uses tensor cores in 16 bits, and may use as much workspace as the products have, 32 MiB, which
///             the plan counts. It chooses an engine when a Trainer is constructed
///   effect    engine/plan/devices.hpp (convolution), engine/cuda/traits.hpp (calls_convolutions),
///             engine/cuda/engine.hpp (convolve)
template <class Form = OfDevice>
struct Convolution final {
  using axis = regimen::axis::convolution;
  using form = Form;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
