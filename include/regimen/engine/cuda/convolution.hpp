// regimen/engine/cuda/convolution.hpp — what the library is asked for to compute a convolution.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cuda/runtime.hpp>

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
  return std::is_same_v<T, G> ? 0 : Arena::align(o.shape.weights() * sizeof(T));
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

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
