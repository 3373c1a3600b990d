// regimen/layer/activation.hpp — Relu, Silu, Gelu: elementwise functions.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/layer/layer.hpp>

#include <type_traits>

namespace regimen {

namespace detail {

/// Whether the derivative is a function of y = act(x). Then backward needs no x; the next layer usually saves y anyway.
template <class Function>
inline constexpr bool output_suffices = std::is_same_v<Function, activation::Relu>;

/// The derivative as a function of y, for an activation whose backward reads only y; else void.
template <class Function>
using of_output =
    std::conditional_t<std::is_same_v<Function, activation::Sigmoid>, activation::SigmoidOfOutput,
                       std::conditional_t<std::is_same_v<Function, activation::Tanh>, activation::TanhOfOutput, void>>;

/// y = act(x), or y = act(x + bias) with the bias of the fused Linear before it.
template <class Function, bool has_bias, class X, class Roles>
struct ActivationBound : LayerDefaults {
  using T = typename X::Element;
  using G = typename Roles::reduce;
  using Element = T;
  using Output = X;
  static constexpr auto parameters = [] {
    if constexpr (has_bias) return std::array<Parameter, 1>{bias_of_product(X::columns)};
    else return std::array<Parameter, 0>{};
  }();
  using OfOutput = of_output<Function>;
  static constexpr bool reads_y = !std::is_void_v<OfOutput>;
  static constexpr Reads backward_reads(bool) {
    return reads_y ? Reads::output : output_suffices<Function> ? Reads::input_or_output : Reads::input;
  }
  static constexpr bool in_place = true, always_writes_d_x = true;

  static constexpr void forward(auto& walk, const auto& call) {
    walk.run(op::BiasActivation<Function, T>{
        .x = {call.x}, .bias = bias_at(call), .y = {call.y}, .rows = walk.batch * X::rows, .columns = X::columns});
  }
  static constexpr void backward(auto& walk, const auto& call) {
    View<G> d_bias{};
    if constexpr (has_bias) d_bias = {call.gradients};
    const bool from_output = (reads_y || output_suffices<Function>) && call.y != call.absent;  // y includes the bias
    const View<T> at = from_output ? View<T>{call.y} : View<T>{call.x}, bias = from_output ? View<T>{} : bias_at(call);
    walk.run(op::BiasBackward<std::conditional_t<reads_y, OfOutput, Function>, T, G>{.x = at,
                                                                                     .bias = bias,
                                                                                     .d_y = {call.d_y},
                                                                                     .d_x = {call.d_x},
                                                                                     .d_bias = d_bias,
                                                                                     .rows = walk.batch * X::rows,
                                                                                     .columns = X::columns,
                                                                                     .add = call.add});
  }

 private:
  static constexpr View<T> bias_at(const auto& call) {
    if constexpr (has_bias) return {call.parameters};
    else return {};
  }
};

/// The fused form of an activation after a Linear: also adds the Linear's bias.
template <class Activation, class Linear>
struct BiasActivation final {
  static constexpr const char* name = Activation::name;
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  using Bound = ActivationBound<typename Activation::Function, true, X, Roles>;
};

/// A layer that applies a function to each element.
template <class Function_>
struct ActivationLayer {
  static constexpr bool couples_samples = false, couples_positions = false;
  using Function = Function_;
  template <class X, class Roles>
  using Bound = ActivationBound<Function, false, X, Roles>;
};

}  // namespace detail

/// y = max(x, 0)                                      x, y any shape; saves y; the derivative at 0 is 0
struct Relu final : detail::ActivationLayer<activation::Relu> {
  static constexpr const char* name = "relu";
};

/// y = x · sigmoid(x)                                 x, y any shape; saves x
struct Silu final : detail::ActivationLayer<activation::Silu> {
  static constexpr const char* name = "silu";
};

/// y = 1 / (1 + e^−x)                                 x, y any shape; saves y. Selective<...> cannot name it
struct Sigmoid final : detail::ActivationLayer<activation::Sigmoid> {
  static constexpr const char* name = "sigmoid";
  static constexpr bool reads_own_output = true;
};

/// y = tanh x                                         x, y any shape; saves y. Selective<...> cannot name it
struct Tanh final : detail::ActivationLayer<activation::Tanh> {
  static constexpr const char* name = "tanh";
  static constexpr bool reads_own_output = true;
};

/// y = x · min(max(x + 3, 0), 6) / 6                  x, y any shape; saves x                 Howard et al. 2019
struct HardSwish final : detail::ActivationLayer<activation::HardSwish> {
  static constexpr const char* name = "hard_swish";
};

/// y = x · Φ(x), with the error function              x, y any shape; saves x       Hendrycks, Gimpel 2016
struct Gelu final : detail::ActivationLayer<activation::GeluErf> {
  static constexpr const char* name = "gelu";
};

/// Gelu by its tanh approximation, as in GPT-2        x, y any shape; saves x       Hendrycks, Gimpel 2016
struct GeluTanh final : detail::ActivationLayer<activation::GeluTanh> {
  static constexpr const char* name = "gelu_tanh";
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
