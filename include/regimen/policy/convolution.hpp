// regimen/policy/convolution.hpp — the kernels that compute convolutions.
#pragma once

#include <regimen/policy/attention.hpp>
#include <regimen/policy/policy.hpp>

namespace regimen {

/// Kernels of plain loops: a thread computes one number.
struct Direct final : detail::OptionOf<axis::convolution> {};

namespace detail {
template <>
inline constexpr bool belongs_to<OfDevice, axis::convolution> = true;
template <>
inline constexpr bool belongs_to<Cudnn, axis::convolution> = true;
}  // namespace detail

/// Decides the form in which a GPU computes convolutions: Conv1d, Conv2d, Conv3d and ConvTranspose2d, forward and
/// backward. A convolution of a single pixel is a product, and has no other form. The policy has no effect on a model
/// without convolutions.
///
///   choices   Convolution<Direct>, Convolution<Cudnn>
///   default   Convolution<>: the device's own form; Direct on GPUs
///   refuses   a form that the device lacks; Cudnn in a program compiled without it
///   error     Direct rounds a sum once. Cudnn rounds a sum before it adds the bias, and again after; in 16 bits it
///             also rounds the gradient of a weight to 16 bits, before the gradient is added in fp32. Cudnn sums in at
///             least fp32 and in a fixed order, and reads fp32 as fp32: Regimen chooses only engines whose notes
///             contradict none of this
///   cost      Cudnn uses tensor cores in 16 bits, and up to 32 MiB of workspace, as products; the plan counts them. It
///             chooses an engine when a Trainer is constructed
///   effect    engine/plan/devices.hpp (convolution), engine/cuda/traits.hpp (calls_convolutions),
///             engine/cuda/engine.hpp (convolve)
template <class Form = OfDevice>
struct Convolution final {
  using axis = regimen::axis::convolution;
  using form = Form;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
