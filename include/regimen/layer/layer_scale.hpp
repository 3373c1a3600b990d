// regimen/layer/layer_scale.hpp — a factor for each channel.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/layer.hpp>

#include <array>
#include <cstddef>

namespace regimen {

/// y[b,t,:] = x[b,t,:] · weight
///
///   x, y (B,T,C), or any shape with C innermost   weight (C): `Initial`, a Ratio; weight decay treats it as a gain
///
/// At the end of a Residual's branch it lets deep networks begin near the identity.
/// error    one product, one rounding; the gradient of weight is a sum over rows in at least fp32
/// cost     saves x
/// source   Touvron et al. 2021, "Going deeper with Image Transformers"
template <class Initial = Ratio<1, 100'000>>
struct LayerScale final {
  static constexpr const char* name = "layer_scale";
  static constexpr bool couples_samples = false, couples_positions = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using G = typename Roles::reduce;
    using Element = T;
    using Output = X;
    static constexpr std::array<Parameter, 1> parameters{
        detail::per_channel("weight", ParameterRole::gain, X::columns, {InitialValue::Kind::constant, Initial::value})};
    static constexpr Reads backward_reads(bool trains) { return trains ? Reads::input : Reads::nothing; }
    static constexpr bool in_place = true, always_writes_d_x = true;

    static constexpr void forward(auto& walk, const auto& call) { scale(walk, call, call.x, call.y); }
    static constexpr void backward(auto& walk, const auto& call) {
      if (!call.trains()) return scale(walk, call, call.d_y, call.d_x);
      walk.run(op::ScaleBackward<T, G>{.x = {call.x},
                                       .gain = {call.parameters},
                                       .d_y = {call.d_y},
                                       .d_x = {call.d_x},
                                       .d_gain = {call.gradients},
                                       .rows = walk.batch * X::rows,
                                       .columns = X::columns,
                                       .add = call.add});
    }

   private:
    static constexpr void scale(auto& walk, const auto& call, std::size_t from, std::size_t to) {
      walk.run(op::Scale<T>{
          .x = {from}, .gain = {call.parameters}, .y = {to}, .rows = walk.batch * X::rows, .columns = X::columns});
    }
  };
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
