// regimen/engine/cuda/convolution.hpp — what the library is asked for to compute a convolution.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/kernel/add_wider.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::cuda {

/// The library gives the gradient of a weight in the type of its factors. A wider one is first computed so, in scratch.
template <class Operation>
constexpr std::size_t rounded_gradient_bytes(const Operation&) {
  return 0;
}
template <class T, class G>
constexpr std::size_t rounded_gradient_bytes(const op::ConvWeight<T, G>& o) {
  return std::is_same_v<T, G> ? 0 : TensorArena::align(o.shape.weights() * sizeof(T));
}

/// What the library is asked for.
template <class T>
constexpr ConvolutionDescriptor convolution(const op::Conv<T>& o, std::size_t workspace) {
  return {ConvolutionDescriptor::Pass::forward, element_type_of<T>, o.shape, false, workspace};
}
template <class T>
constexpr ConvolutionDescriptor convolution(const op::ConvInput<T>& o, std::size_t workspace) {
  return {ConvolutionDescriptor::Pass::input, element_type_of<T>, o.shape, false, workspace};
}
template <class T, class G>
constexpr ConvolutionDescriptor convolution(const op::ConvWeight<T, G>& o, std::size_t workspace) {
  return {ConvolutionDescriptor::Pass::weight, element_type_of<T>, o.shape, o.add && std::is_same_v<T, G>, workspace};
}
/// An operation that the library has.
template <class Operation>
concept Convolves = requires(const Operation& o) { convolution(o, std::size_t{}); };

/// Where its tensors are.   scratch   of the operation
template <class T>
ConvolutionTensors convolution_tensors(const op::Conv<T>& o, std::byte* base, std::size_t) {
  return {base + o.x.offset, base + o.weight.offset, base + o.y.offset};
}
template <class T>
ConvolutionTensors convolution_tensors(const op::ConvInput<T>& o, std::byte* base, std::size_t) {
  return {base + o.d_x.offset, base + o.weight.offset, base + o.d_y.offset};
}
template <class T, class G>
ConvolutionTensors convolution_tensors(const op::ConvWeight<T, G>& o, std::byte* base, std::size_t scratch) {
  return {base + o.x.offset, base + (std::is_same_v<T, G> ? o.d_weight.offset : scratch), base + o.d_y.offset};
}

/// launch(operation) for what the library leaves of one: the bias.
template <class T>
void launch_rest(const op::Conv<T>& o, std::size_t, const auto& launch) {
  if (o.bias.is_absent()) return;
  op::BiasActivation<activation::Identity, T> sum{};
  sum.x = sum.y = o.y, sum.bias = o.bias, sum.rows = o.shape.positions(), sum.columns = o.shape.out_channels;
  launch(sum);
}
template <class T>
void launch_rest(const op::ConvInput<T>&, std::size_t, const auto&) {}
/// The gradient of a weight in a wider type; or that of no samples, which is zero.
template <class T, class G>
void launch_rest(const op::ConvWeight<T, G>& o, std::size_t scratch, const auto& launch) {
  const std::size_t count = o.shape.weights();
  if (o.shape.samples == 0) {
    if (!o.add) launch(op::Zero<G>{o.d_weight, count});
  } else if constexpr (!std::is_same_v<T, G>) {
    if (o.add) launch(kernel::AddWider<T, G>{{scratch}, o.d_weight, count});
    else launch(op::Cast<T, G>{{scratch}, o.d_weight, count});
  }
}

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
