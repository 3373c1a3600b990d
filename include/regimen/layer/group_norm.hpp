// regimen/layer/group_norm.hpp — GroupNorm: normalise each sample over groups of its channels.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/in_order.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/norm.hpp>

#include <cstddef>

namespace regimen {

namespace detail {

template <class... Options>
struct group_norm_options {
  using epsilon = Ratio<1, 100'000>;
};
template <class Value, class... Rest>
struct group_norm_options<Epsilon<Value>, Rest...> : group_norm_options<Rest...> {
  using epsilon = Value;
};

}  // namespace detail

namespace in_order {
/// regimen::GroupNorm, whose Epsilon is another than the default.
template <std::size_t Groups, class... Options>
struct GroupNorm final {
  static constexpr const char* name = "group_norm";
  static constexpr bool couples_samples = false, looks_ahead = true;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using S = statistic_t<T>;
    using Element = T;
    using Output = X;
    static constexpr std::size_t columns = X::columns;
    static constexpr auto parameters = detail::gain_and_bias(columns);
    using Saved = Tensors<PerSample<S, Groups>, PerSample<S, Groups>>;  // mean, rstd
    static constexpr Reads backward_reads(bool) { return Reads::input; }
    static constexpr bool in_place = true;

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::GroupNorm<T>{.x = {call.x},
                                .gain = {call.parameters[0]},
                                .bias = {call.parameters[1]},
                                .y = {call.y},
                                .mean = {call.saved[0]},
                                .rstd = {call.saved[1]},
                                .shape = shape(walk),
                                .epsilon = detail::group_norm_options<Options...>::epsilon::value});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      walk.run(op::GroupNormBackward<T, typename Roles::reduce>{.x = {call.x},
                                                                .gain = {call.parameters[0]},
                                                                .d_y = {call.d_y},
                                                                .d_x = {call.d_x},
                                                                .mean = {call.saved[0]},
                                                                .rstd = {call.saved[1]},
                                                                .d_gain = {call.gradients[0]},
                                                                .d_bias = {call.gradients[1]},
                                                                .shape = shape(walk),
                                                                .add = call.add});
    }

   private:
    static constexpr op::ColumnGroups shape(const auto& walk) {
      return {.samples = walk.batch, .rows = X::rows, .columns = columns, .groups = Groups};
    }
  };
};
}  // namespace in_order
namespace detail {
template <std::size_t Groups, class... Options>
constexpr auto group_norm_in_order(boost::mp11::mp_list<Options...>) {
  return boost::mp11::mp_identity<in_order::GroupNorm<Groups, Options...>>{};
}
}  // namespace detail

/// y = (x − mean) · rstd · weight + bias, rstd = 1/√(variance + epsilon), for each sample over all positions and the
/// channels of each of `Groups` equal groups of neighbouring channels. GroupNorm<1> normalises over the whole sample,
/// GroupNorm<C> over the positions of each channel (instance normalisation).
///
///   x, y (B,H,W,C), (B,T,C) or (B,C)   weight (C) one   bias (C) zero   mean, rstd (B,Groups) at least fp32, saved
///   options   Epsilon<Ratio<1, 100'000>>
///
/// refuses  channels that Groups does not divide; generate, since the mean of a position includes later ones
/// source   Wu, He 2018, eq. 1-3 and 7
/// error    Mean and variance are sums in at least fp32. A sum rounds once for each row of a chunk (32 rows or more),
///          once for each chunk, and once for each channel of a group
/// cost     x three times and y; saves x and 2·B·Groups statistics
template <std::size_t Groups, class... Options>
using GroupNorm =
    typename decltype(detail::group_norm_in_order<Groups>(typename detail::types_in_order<Options...>::type{}))::type;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
