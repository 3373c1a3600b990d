// regimen/layer/norm.hpp — LayerNorm and RmsNorm: normalise each position over its channels.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/in_order.hpp>
#include <regimen/layer/layer.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen {

namespace detail {

constexpr Parameter gain_of_norm(const char* name, std::size_t columns) {
  return per_channel(name, ParameterRole::gain, columns, {InitialValue::Kind::one, 1});
}
/// The parameters of a norm; without a bias, unless `centered`.
template <bool centered = true>
constexpr auto gain_and_bias(std::size_t columns) {
  const Parameter gain = gain_of_norm("weight", columns);
  if constexpr (centered) return std::array<Parameter, 2>{gain, per_channel("bias", ParameterRole::bias, columns)};
  else return std::array<Parameter, 1>{gain};
}

template <bool centered, class X, class Roles, class Epsilon>
struct NormBound : LayerDefaults {
  using T = typename X::Element;
  using S = statistic_t<T>;
  using G = typename Roles::reduce;
  using Element = T;
  using Output = X;
  static constexpr std::size_t columns = X::columns;
  static constexpr auto parameters = gain_and_bias<centered>(columns);
  using Row = PerSample<S, X::rows>;
  using Saved = std::conditional_t<centered, Tensors<Row, Row>, Tensors<Row>>;  // rstd, then mean
  static constexpr Reads backward_reads(bool) { return Reads::input; }
  static constexpr bool in_place = true, always_writes_d_x = true, sums_d_x = Roles::Epilogues::sums;

  // All in one expression: compilers limit the statements of a plan.
  static constexpr void forward(auto& walk, const auto& call) {
    walk.run(op::Normalize<centered, T>{.x = {call.x},
                                        .gain = {call.parameters[0]},
                                        .bias = {centered ? call.parameters[last] : absent},
                                        .y = {call.y},
                                        .mean = {centered ? call.saved[last] : absent},
                                        .rstd = {call.saved[0]},
                                        .rows = walk.batch * X::rows,
                                        .columns = columns,
                                        .epsilon = Epsilon::value});
  }
  static constexpr void backward(auto& walk, const auto& call) {
    if constexpr (sums_d_x)
      if (call.onto != absent)
        return walk.run(
            op::NormalizeBackwardSum<centered, T, G>{.backward = gradients(walk, call), .onto = {call.onto}});
    walk.run(gradients(walk, call));
  }

 private:
  static constexpr std::size_t last = centered ? 1 : 0, absent = View<T>::absent;

  static constexpr op::NormalizeBackward<centered, T, G> gradients(const auto& walk, const auto& call) {
    return {.x = {call.x},
            .gain = {call.parameters[0]},
            .d_y = {call.d_y},
            .d_x = {call.d_x},
            .mean = {centered ? call.saved[last] : absent},
            .rstd = {call.saved[0]},
            .d_gain = {call.gradients[0]},
            .d_bias = {centered ? call.gradients[last] : absent},
            .rows = walk.batch * X::rows,
            .columns = columns,
            .add = call.add};
  }
};

template <bool centered, class Epsilon = Ratio<1, 100'000>>
struct NormLayer {
  static constexpr const char* name = centered ? "layer_norm" : "rms_norm";
  static constexpr bool couples_samples = false, couples_positions = false;
  template <class X, class Roles>
  using Bound = NormBound<centered, X, Roles, Epsilon>;
};

}  // namespace detail

/// y[b,t,:] = (x[b,t,:] − mean) · rstd · weight + bias        mean, variance over C, no Bessel correction
///
///   x, y           (B,T,C)   the compute type
///   weight, bias   (C)       one, zero
///   mean, rstd     (B,T)     at least fp32, saved for backward
///
/// epsilon  1e-5, dimensionless, added to the variance
/// error    x − mean is off by the error of the mean: some u · |mean|, with u half an ulp of 1. Backward uses the same
///          differences, bit for bit
/// source   Ba, Kiros, Hinton 2016, eq. 3–4
/// cost     saves x and 2·B·T statistics
struct LayerNorm final : detail::NormLayer<true> {};

/// A norm's epsilon, a Ratio above 0: LayerNormWith<Epsilon<Ratio<1, 1'000'000>>>.
template <class Value>
struct Epsilon final {};

namespace detail {
template <class Value>
inline constexpr OptionPlace option_place<Epsilon<Value>>{0, std::is_same_v<Value, Ratio<1, 100'000>>};
/// A norm with another epsilon; the norm without options, if the epsilon is the default.
template <class Option, class Without, class With>
using norm_with = std::conditional_t<std::is_same_v<Option, Epsilon<Ratio<1, 100'000>>>, Without, With>;
}  // namespace detail

namespace in_order {
/// regimen::LayerNormWith, with another epsilon than LayerNorm.
template <class Epsilon>
struct LayerNormWith;
template <class Value>
struct LayerNormWith<Epsilon<Value>> final : detail::NormLayer<true, Value> {};
}  // namespace in_order
/// LayerNorm with another epsilon.
template <class Epsilon>
using LayerNormWith = detail::norm_with<Epsilon, LayerNorm, in_order::LayerNormWith<Epsilon>>;

/// y[b,t,:] = x[b,t,:] · rstd · weight, rstd = 1/√(mean of x² over C + 1e-5)
///
///   x, y (B,T,C)   weight (C) one   rstd (B,T) at least fp32, saved for backward
///
/// source   Zhang, Sennrich 2019, eq. 4
/// cost     saves x and B·T statistics
struct RmsNorm final : detail::NormLayer<false> {};

namespace in_order {
/// regimen::RmsNormWith, with another epsilon than RmsNorm.
template <class Epsilon>
struct RmsNormWith;
template <class Value>
struct RmsNormWith<Epsilon<Value>> final : detail::NormLayer<false, Value> {};
}  // namespace in_order
/// RmsNorm with another epsilon.
template <class Epsilon>
using RmsNormWith = detail::norm_with<Epsilon, RmsNorm, in_order::RmsNormWith<Epsilon>>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
