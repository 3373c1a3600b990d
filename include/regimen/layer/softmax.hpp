// regimen/layer/softmax.hpp — Softmax: each position's channels as a distribution.
#pragma once

#include <regimen/layer/layer.hpp>

namespace regimen {

/// y[b,t,c] = exp(x[b,t,c]) / Σ over c of exp(x[b,t,c])
///
///   x, y (B,H,W,C), (B,T,C) or (B,C)   saves y. Selective<...> cannot name it
///
/// Put no Softmax at the end of a model for a cross-entropy: the loss takes logits, and refuses a Softmax.
/// error    each row is first reduced by its maximum, against overflow; exp, a sum over C in at least fp32, one
///          division, one rounding
/// cost     saves y
struct Softmax final {
  static constexpr const char* name = "softmax";
  static constexpr bool couples_samples = false, couples_positions = false, reads_own_output = true;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = X;
    static constexpr Reads backward_reads(bool) { return Reads::output; }
    static constexpr bool in_place = true;

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::Softmax<T>{.x = {call.x}, .y = {call.y}, .rows = walk.batch * X::rows, .columns = X::columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x())
        walk.run(op::SoftmaxBackward<T>{
            .y = {call.y}, .d_y = {call.d_y}, .d_x = {call.d_x}, .rows = walk.batch * X::rows, .columns = X::columns});
    }
  };
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
