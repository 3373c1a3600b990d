// regimen/layer/linear.hpp — an affine map of the innermost extent.
#pragma once

#include <regimen/layer/layer.hpp>

#include <type_traits>

namespace regimen {

namespace detail {

constexpr double inverse_square_root(double x) {  // Newton; std::sqrt is no constant expression in C++20
  double guess = x > 1 ? 1 / x : 1;
  for (int i = 0; i < 48; ++i) guess = guess * (1.5 - 0.5 * x * guess * guess);
  return guess;
}

/// The shape of X with another innermost extent.
template <class TensorShape, std::size_t Width, std::size_t... Before>
struct with_columns;
template <std::size_t Last, std::size_t Width, std::size_t... Before>
struct with_columns<Shape<Last>, Width, Before...> {
  using type = Shape<Before..., Width>;
};
template <std::size_t First, std::size_t Second, std::size_t... Rest, std::size_t Width, std::size_t... Before>
struct with_columns<Shape<First, Second, Rest...>, Width, Before...>
    : with_columns<Shape<Second, Rest...>, Width, Before..., First> {};

/// y = x · Wᵀ + b. The bias is added here, or by the neighbour it is fused with, or there is none.
enum class BiasIs { added_here, added_by_neighbour, absent };

template <std::size_t Width, class X, class Roles, class Out, BiasIs bias>
struct LinearBound : LayerDefaults {
  using T = typename X::Element;
  using G = typename Roles::reduce;
  using F = typename Roles::template factor<T>;
  using D = typename Roles::template factor<Out>;
  using Element = T;
  using Output = Value<Out, typename with_columns<typename X::Shape, Width>::type>;
  static constexpr std::size_t in = X::columns;
  static constexpr InitialValue fill{InitialValue::Kind::uniform, inverse_square_root(double(in))};
  static constexpr bool has_bias = bias == BiasIs::added_here;
  static constexpr auto parameters = [] {
    constexpr Parameter weight{"weight", ParameterRole::matrix, 2, {Width, in, 1, 1}, fill};
    constexpr Parameter shift{"bias", ParameterRole::bias, 1, {Width, 1, 1, 1}, {}};
    if constexpr (has_bias) return std::array<Parameter, 2>{weight, shift};
    else return std::array<Parameter, 1>{weight};
  }();
  /// A library adds a bias of the output's type, in at most fp32.
  static constexpr bool adds_bias = Roles::epilogues && std::is_same_v<Out, T> && !std::is_same_v<T, fp64>;
  static constexpr Reads backward_reads(bool trains) { return trains ? Reads::input : Reads::nothing; }

  static constexpr bool backward_reads_parameters(bool wants_d_x) { return wants_d_x; }

  static constexpr void forward(auto& engine, const auto& call) {
    const std::size_t rows = engine.batch * X::rows;
    const op::Product<F, F, Out> product{
        .a = {call.x}, .b = {call.parameters[0]}, .c = {call.y}, .m = rows, .n = Width, .k = in, .transpose_b = true};
    if constexpr (has_bias && adds_bias)
      engine.run(op::ProductBias<F, F, Out>{.product = product, .bias = {call.parameters[1]}});
    else engine.run(product);
    if constexpr (has_bias && !adds_bias)
      engine.run(op::BiasActivation<activation::Identity, Out, T>{
          .x = {call.y}, .bias = {call.parameters[1]}, .y = {call.y}, .rows = rows, .columns = Width});
  }
  static constexpr void backward(auto& engine, const auto& call) {
    const std::size_t rows = engine.batch * X::rows;
    if (call.wants_d_x())
      engine.run(op::Product<D, F, T>{
          .a = {call.d_y}, .b = {call.parameters[0]}, .c = {call.d_x}, .m = rows, .n = in, .k = Width});
    if (call.trains()) {
      engine.run(op::Product<D, F, G>{.a = {call.d_y},
                                      .b = {call.x},
                                      .c = {call.gradients[0]},
                                      .m = Width,
                                      .n = in,
                                      .k = rows,
                                      .transpose_a = true,
                                      .add = call.add});
      if constexpr (has_bias)
        engine.run(op::BiasBackward<activation::Identity, Out, G>{.d_y = {call.d_y},
                                                                  .d_x = {call.d_y},
                                                                  .d_bias = {call.gradients[1]},
                                                                  .rows = rows,
                                                                  .columns = Width,
                                                                  .add = call.add});
    }
  }
};

}  // namespace detail

/// y[b,t,:] = W x[b,t,:] + bias
///
///   x (B,T,In), y (B,T,Width)   the type of x; as the model's last layer: at least fp32
///   weight (Width,In)           uniform in ±1/√In (the default of most frameworks for ReLU-like nets)
///   bias (Width)                zero
///
/// error    one product with fp32 (fp64) accumulation, one rounding
/// cost     2·B·T·In·Width flops forward, twice that backward; saves x
/// refuses  more than one number: `More` exists for the error's sake
template <std::size_t Width, auto... More>
struct Linear final {
  static constexpr const char* name = "linear";
  static constexpr bool couples_samples = false, couples_positions = false;
  template <class X, class Roles>
  using Bound = detail::LinearBound<Width, X, Roles, typename X::Element, detail::BiasIs::added_here>;
};

namespace detail {

/// A Linear whose width is a multiple of its input's width.
template <std::size_t Multiple>
struct LinearTimes final {
  static constexpr const char* name = "linear";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  using Bound = LinearBound<Multiple * X::columns, X, Roles, typename X::Element, BiasIs::added_here>;
};

/// The forms of a Linear that the fusion pass uses: without its bias, and with a wider output.
template <class Linear, BiasIs bias, class Out>
struct LinearForm;
template <std::size_t Width, BiasIs bias, class Out>
struct LinearForm<Linear<Width>, bias, Out> final {
  static constexpr const char* name = "linear";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  using Bound = LinearBound<Width, X, Roles, std::conditional_t<std::is_void_v<Out>, typename X::Element, Out>, bias>;
};

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
