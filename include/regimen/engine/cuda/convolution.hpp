// regimen/engine/cuda/convolution.hpp — what the library is asked for to compute a convolution.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/library.hpp>

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

/// What the library is asked for, without its workspace, and where its tensors are in the arena.
struct ConvolutionCall {
  ConvolutionDescriptor descriptor{};
  std::size_t x = 0, weight = 0, y = 0;
};
template <class T>
constexpr ConvolutionCall convolution(const op::Conv<T>& o, std::size_t) {
  return {{ConvolutionDescriptor::Pass::forward, element_type_of<T>, o.shape}, o.x.offset, o.weight.offset, o.y.offset};
}
template <class T>
constexpr ConvolutionCall convolution(const op::ConvInput<T>& o, std::size_t) {
  return {
      {ConvolutionDescriptor::Pass::input, element_type_of<T>, o.shape}, o.d_x.offset, o.weight.offset, o.d_y.offset};
}
template <class T, class G>
constexpr ConvolutionCall convolution(const op::ConvWeight<T, G>& o, std::size_t scratch) {
  constexpr bool is_direct = std::is_same_v<T, G>;
  return {{ConvolutionDescriptor::Pass::weight, element_type_of<T>, o.shape, is_direct && o.add},
          o.x.offset,
          is_direct ? o.d_weight.offset : scratch,
          o.d_y.offset};
}
/// An operation that the library has.
template <class Operation>
concept Convolves = requires(const Operation& o) { convolution(o, std::size_t{}); };

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
