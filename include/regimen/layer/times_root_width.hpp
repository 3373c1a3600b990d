// regimen/layer/times_root_width.hpp — factors √C after an Embedding, and 1/√C before a TiedLinear.
#pragma once

#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>

#include <cstddef>

namespace regimen {

namespace detail {

/// y = √C · x, or x / √C
template <class X, bool divides>
struct TimesRootWidthBound : LayerDefaults {
  using T = typename X::Element;
  using Output = X;
  static constexpr bool in_place = true, always_writes_d_x = true;

  static constexpr void forward(auto& walk, const auto& call) { times(walk, call.x, call.y); }
  static constexpr void backward(auto& walk, const auto& call) { times(walk, call.d_y, call.d_x); }

 private:
  static constexpr double factor = (divides ? 1 : double(X::columns)) * inverse_square_root(double(X::columns));
  static constexpr void times(auto& walk, std::size_t from, std::size_t to) {
    walk.run(op::ScaledSum<T, T>{.x = {from}, .y = {to}, .count = walk.batch * X::size, .a = {factor}});
  }
};
template <bool divides>
struct RootWidthLayer {
  static constexpr const char* name = divides ? "over_root_width" : "times_root_width";
  static constexpr bool couples_samples = false, couples_positions = false;
  template <class X, class Roles>
  using Bound = TimesRootWidthBound<X, divides>;
};

}  // namespace detail

/// y = √C · x
///
///   x, y (B,T,C), or any shape with C innermost
///
/// A Transformer has it after its Embedding and before its positions.
/// error    √C in fp64; one rounding
/// cost     in place; saves nothing
/// source   Vaswani et al. 2017, section 3.4
struct TimesRootWidth final : detail::RootWidthLayer<false> {};

/// y = x / √C; in all else it equals TimesRootWidth
///
/// T5 has it before its TiedLinear, whose table has numbers of the size that an Embedding needs: logits then do not
/// grow with C.
/// source   Raffel et al. 2020: T5, as its program computes it
struct OverRootWidth final : detail::RootWidthLayer<true> {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
