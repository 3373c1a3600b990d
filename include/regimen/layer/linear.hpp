// regimen/layer/linear.hpp — an affine map of the innermost extent.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/padded.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen {

namespace detail {

constexpr double inverse_square_root(double x) {  // Newton; std::sqrt is no constant expression in C++20
  double guess = x > 1 ? 1 / x : 1;
  for (int i = 0; i < 48; ++i) guess = guess * (1.5 - 0.5 * x * guess * guess);
  return guess;
}

/// The parameters of a product. The first extent of the weight is that of its outputs.
///   inputs   of each output
template <bool has_bias>
constexpr auto weight_and_bias(std::size_t rank, const std::array<std::size_t, 4>& extents, std::size_t inputs) {
  const InitialValue fill{InitialValue::Kind::uniform, inverse_square_root(double(inputs))};
  const Parameter weight{.name = "weight", .rank = rank, .extents = extents, .fill = fill};
  if constexpr (has_bias) return std::array<Parameter, 2>{weight, bias_of_product(extents[0])};
  else return std::array<Parameter, 1>{weight};
}

/// The roles of a product that is fused with no neighbour.
template <class All>
using WithoutEpilogues =
    Roles<typename All::computed, typename All::master, typename All::reduce, op::NoEpilogues, typename All::kept>;

enum class BiasIs { added_here, added_by_neighbour, absent };

/// Which backward multiplies by the derivative of an activation that is applied here: this layer's, or the next one's.
enum class DerivativeIs { taken_here, taken_by_next };

/// y = act(x · Wᵀ + b), with the bias added here, or by the neighbour it is fused with, or without one.
///   Activation   an epilogue of the product; saves s = x · Wᵀ + b, rounded, and backward computes d_s from d_y
///   Before       the activation whose output is x: d_x is the gradient of its input, which it has saved
template <std::size_t Width, class X, class Roles, class Out, BiasIs bias, class Activation = activation::Identity,
          DerivativeIs derivative = DerivativeIs::taken_here, class Before = activation::Identity>
struct LinearBound : LayerDefaults {
  using T = typename X::Element;
  using G = typename Roles::reduce;
  using F = typename Roles::template factor<T>;
  using Element = T;
  using Output = Value<Out, typename with_columns<typename X::Shape, Width>::type>;
  static constexpr std::size_t in = X::columns;
  static constexpr bool has_bias = bias == BiasIs::added_here;
  static constexpr auto parameters = weight_and_bias<has_bias>(2, {Width, in, 1, 1}, in);
  static constexpr bool activates = !std::is_same_v<Activation, activation::Identity>;
  /// A library adds a bias of the output's type.
  static constexpr bool has_epilogue =
      has_bias && std::is_same_v<Out, T> && Roles::Epilogues::template has<Activation, T>(Width);
  static_assert(has_epilogue || !activates);
  using Saved = std::conditional_t<activates, Tensors<PerSample<Out, Output::size>>, Tensors<>>;
  static constexpr bool saves_for_backward = true, writes_d_sum = activates && derivative == DerivativeIs::taken_here;
  static constexpr bool derives_before = !std::is_same_v<Before, activation::Identity>;
  static constexpr bool sums_y = Roles::Epilogues::sums && has_bias && !activates,
                        sums_d_x = Roles::Epilogues::sums && !derives_before;
  static constexpr Reads backward_reads(bool trains) { return trains ? Reads::input : Reads::nothing; }

  static constexpr bool backward_reads_parameters(bool wants_d_x) { return wants_d_x; }

  /// leading   elements from row to row of y; 0: they are dense
  template <std::size_t leading = 0>
  static constexpr void forward(auto& walk, const auto& call) {
    const std::size_t rows = walk.batch * X::rows;
    const op::Product<F, F, Out> product{.a = {call.x},
                                         .b = {call.parameters[0]},
                                         .c = {call.y},
                                         .m = rows,
                                         .n = Width,
                                         .k = in,
                                         .transpose_b = true,
                                         .c_leading = leading};
    if constexpr (has_epilogue) {
      if constexpr (sums_y)
        if (call.onto != View<Out>::absent)
          return walk.run(
              op::ProductSum<F, F, Out>{.product = product, .onto = {call.onto}, .bias = {call.parameters[1]}});
      op::ProductEpilogue<F, F, Out, Activation> whole{.product = product, .bias = {call.parameters[1]}};
      if constexpr (activates) whole.x = {call.saved[0]};
      walk.run(whole);
    } else {
      if constexpr (sums_y) run_onto(walk, product, call.onto);
      else walk.run(product);
      if constexpr (has_bias)
        walk.run(op::BiasActivation<activation::Identity, Out, T>{.x = {call.y},
                                                                  .bias = {call.parameters[1]},
                                                                  .y = {call.y},
                                                                  .rows = rows,
                                                                  .columns = Width,
                                                                  .leading = leading});
    }
  }
  /// leading   elements from row to row of d_y, which are Gradients; 0: they are dense
  template <std::size_t leading = 0, class Gradient = Out>
  static constexpr void backward(auto& walk, const auto& call) {
    using D = typename Roles::template factor<Gradient>;
    const std::size_t rows = walk.batch * X::rows;
    View<G> d_bias{};
    if constexpr (has_bias)
      if (call.trains()) d_bias = {call.gradients[1]};
    View<Gradient> d_sum{call.d_y};
    if constexpr (writes_d_sum) {
      d_sum = {call.d_sum};
      walk.run(op::BiasBackward<Activation, Gradient, G>{.x = {call.saved[0]},
                                                         .d_y = {call.d_y},
                                                         .d_x = d_sum,
                                                         .d_bias = d_bias,
                                                         .rows = rows,
                                                         .columns = Width,
                                                         .add = call.add});
    }
    if (call.wants_d_x()) {
      const op::Product<D, F, T> product{.a = {d_sum.offset},
                                         .b = {call.parameters[0]},
                                         .c = {call.d_x},
                                         .m = rows,
                                         .n = in,
                                         .k = Width,
                                         .a_leading = leading};
      if constexpr (derives_before)
        walk.run(op::ProductEpilogue<D, F, T, Before, true>{.product = product, .x = {call.saved_before}});
      else if constexpr (sums_d_x) run_onto(walk, product, call.onto);
      else walk.run(product);
    }
    if (call.trains()) {
      walk.run(op::Product<D, F, G>{.a = {d_sum.offset},
                                    .b = {call.x},
                                    .c = {call.gradients[0]},
                                    .m = Width,
                                    .n = in,
                                    .k = rows,
                                    .transpose_a = true,
                                    .add = call.add,
                                    .a_leading = leading});
      if constexpr (has_bias && !writes_d_sum) walk.run(sum_of_rows(d_sum, d_bias, rows, Width, call.add, leading));
    }
  }

 private:
  template <class A, class B, class C>
  static constexpr void run_onto(auto& walk, const op::Product<A, B, C>& product, std::size_t onto) {
    if (onto == View<C>::absent) walk.run(product);
    else walk.run(op::ProductSum<A, B, C>{.product = product, .onto = {onto}});
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
/// refuses  a second number: `More` may only be NoBias
template <std::size_t Width, auto... More>
struct Linear final {
  static constexpr const char* name = "linear";
  static constexpr bool couples_samples = false, couples_positions = false;
  template <class X, class Roles>
  using Bound = detail::LinearBound<Width, X, Roles, typename X::Element,
                                    sizeof...(More) == 0 ? detail::BiasIs::added_here : detail::BiasIs::absent>;
};

enum class LinearOption { NoBias };
/// Linear<Width, NoBias>: y[b,t,:] = W x[b,t,:]. In all else it equals Linear<Width>.
inline constexpr LinearOption NoBias = LinearOption::NoBias;

namespace detail {

template <class Layer>
struct function_of {
  using type = typename Layer::Function;
};
template <>
struct function_of<void> {
  using type = activation::Identity;
};

/// The forms of a Linear that the fusion pass uses: without its bias, with a wider output, with the activation after
/// it, and after an activation by whose derivative it multiplies. Activation and Before: layers, or void.
template <class Linear, BiasIs bias, class Out, class Activation = void,
          DerivativeIs derivative = DerivativeIs::taken_here, class Before = void>
struct LinearForm;
template <std::size_t Width, auto... More, BiasIs bias, class Out, class Activation, DerivativeIs derivative,
          class Before>
struct LinearForm<Linear<Width, More...>, bias, Out, Activation, derivative, Before> final {
  static constexpr const char* name = "linear";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  using Bound = LinearBound<Width, X, Roles, std::conditional_t<std::is_void_v<Out>, typename X::Element, Out>, bias,
                            typename function_of<Activation>::type, derivative, typename function_of<Before>::type>;
};

template <std::size_t Width, auto... More>
inline constexpr bool writes_padded_rows<Linear<Width, More...>> = true;
template <std::size_t Width, class Out>
inline constexpr bool writes_padded_rows<LinearForm<Linear<Width, NoBias>, BiasIs::absent, Out>> = true;
template <class Linear, class Out, DerivativeIs derivative, class Before>
inline constexpr bool writes_padded_rows<LinearForm<Linear, BiasIs::added_here, Out, void, derivative, Before>> = true;

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
