// regimen/layer/sinusoidal_positions.hpp — positions as sines and cosines, which do not train.
#pragma once

#include <regimen/layer/layer.hpp>

namespace regimen {

namespace detail {

///   walks_on      in incremental decoding: from walk.position on
///   sines_first   all sines, then all cosines
template <bool walks_on, bool sines_first = false>
struct Sinusoids {
  static constexpr const char* name = "sinusoidal_positions";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = X;
    static constexpr bool in_place = true;

    static constexpr void forward(auto& walk, const auto& call) {
      op::AddSinusoids<T> o{
          .x = {call.x}, .y = {call.y}, .samples = walk.batch, .length = X::rows, .columns = X::columns};
      o.sines_first = sines_first;
      if constexpr (walks_on) o.first = walk.position;
      walk.run(o);
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x() && call.d_x != call.d_y) walk.run(op::Copy<T>{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};

}  // namespace detail

/// y[b,t,2i] = x[b,t,2i] + sin(t · 10000^(−2i/C)),   y[b,t,2i+1] = x[b,t,2i+1] + cos(t · 10000^(−2i/C))
///
///   x, y (B,T,C), numbers; C even or odd; no parameters, for texts of any length
///
/// error    sines in fp64, at position p off by at most p · 2^−51, rounded to S; one rounding to T
/// source   Vaswani et al. 2017, section 3.5
/// cost     in place; saves nothing; T · C / 2 sines and cosines, for any B
struct SinusoidalPositions final : detail::Sinusoids<false> {};

/// All sines, then all cosines: the order of Marian and of tensor2tensor.
struct SinesFirst final {};
/// SinusoidalPositions in another order: y[b,t,i] = x[b,t,i] + sin a, y[b,t,⌈C/2⌉+i] = x[b,t,⌈C/2⌉+i] + cos a,
/// a = t · 10000^(−2i/C).
template <class Order>
struct SinusoidalPositionsWith;
template <>
struct SinusoidalPositionsWith<SinesFirst> final : detail::Sinusoids<false, true> {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
