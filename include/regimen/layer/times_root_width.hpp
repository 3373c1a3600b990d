// regimen/layer/times_root_width.hpp — embeddings as long as positions are.
#pragma once

#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>

#include <cstddef>

namespace regimen {

/// y = √C · x
///
///   x, y (B,T,C), or any shape with C innermost
///
/// Behind the Embedding of a Transformer, before its positions.
/// error    √C in fp64; one rounding
/// cost     in place; saves nothing
/// source   Vaswani et al. 2017, section 3.4
struct TimesRootWidth final {
  static constexpr const char* name = "times_root_width";
  static constexpr bool couples_samples = false, couples_positions = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = X;
    static constexpr bool in_place = true, always_writes_d_x = true;

    static constexpr void forward(auto& engine, const auto& call) { times(engine, call.x, call.y); }
    static constexpr void backward(auto& engine, const auto& call) { times(engine, call.d_y, call.d_x); }

   private:
    static constexpr double root = double(X::columns) * detail::inverse_square_root(double(X::columns));
    static constexpr void times(auto& engine, std::size_t from, std::size_t to) {
      engine.run(op::ScaledSum<T, T>{.x = {from}, .y = {to}, .count = engine.batch * X::size, .a = {root}});
    }
  };
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
