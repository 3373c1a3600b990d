// regimen/layer/patches.hpp — from images to positions, and from positions to one row: Patches, ClassToken, TakeFirst,
// MeanPool.
#pragma once

#include <regimen/layer/layer.hpp>

#include <array>
#include <cstddef>

namespace regimen {

/// y[b, (i, j), (r, s, c)] = x[b, i·Size + r, j·Size + s, c]: the squares of an image as positions, row by row
///
///   x (B,H,W,C)   y (B, H/Size · W/Size, Size · Size · C)   exact
///
/// Patches<16>, then Linear<D>, are the patch embedding of a vision transformer: a convolution of kernel and stride 16.
/// refuses  extents that Size does not divide
/// cost     saves nothing
/// source   Dosovitskiy et al. 2021, eq. 1
template <std::size_t Size>
struct Patches final {
  static constexpr const char* name = "patches";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    static constexpr std::size_t high = X::Shape::extent(0) / Size, wide = X::Shape::extent(1) / Size,
                                 line = Size * X::columns;  // elements of a row of a patch
    using Output = Value<T, Shape<high * wide, Size * line>>;

    static constexpr void forward(auto& walk, const auto& call) {
      for (std::size_t row = 0; row < Size; ++row)
        walk.run(op::CopyColumns<T>{.x = {call.x + row * wide * line * sizeof(T)},
                                    .y = {call.y + row * line * sizeof(T)},
                                    .rows = walk.batch * high * wide,
                                    .columns = line,
                                    .from_row = line,
                                    .to_row = Size * line,
                                    .group = wide,
                                    .from_group = Size * wide * line,
                                    .to_group = Size * wide * line});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (!call.wants_d_x()) return;
      for (std::size_t row = 0; row < Size; ++row)
        walk.run(op::CopyColumns<T>{.x = {call.d_y + row * line * sizeof(T)},
                                    .y = {call.d_x + row * wide * line * sizeof(T)},
                                    .rows = walk.batch * high * wide,
                                    .columns = line,
                                    .from_row = Size * line,
                                    .to_row = line,
                                    .group = wide,
                                    .from_group = Size * wide * line,
                                    .to_group = Size * wide * line});
    }
  };
};

/// y[b,0,:] = token, y[b,1+t,:] = x[b,t,:]
///
///   x (B,T,C)   y (B,1+T,C)   token (C) normal(0, 0.02)   exact; the token's gradient is summed over the batch
///
/// cost     saves nothing
/// source   Devlin et al. 2019
struct ClassToken final {
  static constexpr const char* name = "class_token";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using G = typename Roles::reduce;
    using Element = T;
    static constexpr std::size_t columns = X::columns, row = X::size + columns;
    using Output = Value<T, Shape<X::rows + 1, columns>>;
    static constexpr std::array<Parameter, 1> parameters{
        Parameter{"token", ParameterRole::table, 1, {columns, 1, 1, 1}, {InitialValue::Kind::normal, 0.02}}};
    static constexpr bool backward_reads_parameters(bool) { return false; }

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::CopyColumns<T>{
          .x = {call.parameters}, .y = {call.y}, .rows = walk.batch, .columns = columns, .from_row = 0, .to_row = row});
      walk.run(op::CopyColumns<T>{.x = {call.x},
                                  .y = {call.y + columns * sizeof(T)},
                                  .rows = walk.batch,
                                  .columns = X::size,
                                  .from_row = X::size,
                                  .to_row = row});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.trains())
        walk.run(op::BiasBackward<activation::Identity, T, G>{.d_y = {call.d_y},
                                                              .d_x = {call.d_y},
                                                              .d_bias = {call.gradients},
                                                              .rows = walk.batch,
                                                              .columns = columns,
                                                              .add = call.add,
                                                              .leading = row});
      if (call.wants_d_x())
        walk.run(op::CopyColumns<T>{.x = {call.d_y + columns * sizeof(T)},
                                    .y = {call.d_x},
                                    .rows = walk.batch,
                                    .columns = X::size,
                                    .from_row = row,
                                    .to_row = X::size});
    }
  };
};

/// y[b,:] = x[b,0,:]                                  x (B,T,C), y (B,C); exact; saves nothing
struct TakeFirst final {
  static constexpr const char* name = "take_first";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = Value<T, Shape<X::columns>>;

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::CopyColumns<T>{.x = {call.x},
                                  .y = {call.y},
                                  .rows = walk.batch,
                                  .columns = X::columns,
                                  .from_row = X::size,
                                  .to_row = X::columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (!call.wants_d_x()) return;
      walk.run(op::Zero<T>{.y = {call.d_x}, .count = walk.batch * X::size});
      walk.run(op::CopyColumns<T>{.x = {call.d_y},
                                  .y = {call.d_x},
                                  .rows = walk.batch,
                                  .columns = X::columns,
                                  .from_row = X::columns,
                                  .to_row = X::size});
    }
  };
};

/// y[b,:] = mean over t of x[b,t,:]                   x (B,T,C), or (B,H,W,C) over all positions; y (B,C)
///
/// error    sums in at least fp32, in the order of positions; one rounding
/// cost     saves nothing
struct MeanPool final {
  static constexpr const char* name = "mean_pool";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = Value<T, Shape<X::columns>>;

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(
          op::MeanRows<T>{.x = {call.x}, .y = {call.y}, .samples = walk.batch, .rows = X::rows, .columns = X::columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x())
        walk.run(op::MeanRowsBackward<T>{
            .d_y = {call.d_y}, .d_x = {call.d_x}, .samples = walk.batch, .rows = X::rows, .columns = X::columns});
    }
  };
};
/// The mean of each channel of an image.
using GlobalAveragePool = MeanPool;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
