// regimen/layer/add_bias.hpp — a bias by itself, after a product without one.
#pragma once

#include <regimen/layer/layer.hpp>

#include <array>

namespace regimen {

/// y[b,t,:] = x[b,t,:] + bias
///
///   x, y (B,T,C), or any shape with C innermost   bias (C): zero
///
/// After a TiedLinear it is the bias of the logits.
/// error    one rounding to the type of x. If it is the last layer, after a TiedLinear, Precision<bf16, fp32> rounds
///          the logits to bf16
/// cost     in place; saves nothing
struct AddBias final {
  static constexpr const char* name = "add_bias";
  static constexpr bool couples_samples = false, couples_positions = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using G = typename Roles::reduce;
    using Element = T;
    using Output = X;
    static constexpr std::array<Parameter, 1> parameters{detail::per_channel("bias", ParameterRole::bias, X::columns)};
    static constexpr bool in_place = true;
    static constexpr bool backward_reads_parameters(bool) { return false; }

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::BiasActivation<activation::Identity, T>{.x = {call.x},
                                                           .bias = {call.parameters},
                                                           .y = {call.y},
                                                           .rows = walk.batch * X::rows,
                                                           .columns = X::columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.trains())
        walk.run(detail::sum_of_rows<T, G>({call.d_y}, {call.gradients}, walk.batch * X::rows, X::columns, call.add));
      if (call.wants_d_x() && call.d_x != call.d_y) walk.run(op::Copy<T>{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
