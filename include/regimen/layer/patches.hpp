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

    static constexpr void forward(auto& walk, const auto& call) { copy<true>(walk, call.x, call.y); }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) copy<false>(walk, call.d_x, call.d_y);
    }

   private:
    /// Each row of all patches, from the image or to it.
    template <bool from_image>
    static constexpr void copy(auto& walk, std::size_t image, std::size_t patches) {
      for (std::size_t row = 0; row < Size; ++row) {
        const detail::RowsAt pixels{image + row * wide * line * sizeof(T), line},
            patch{patches + row * line * sizeof(T), Size * line};
        auto o = detail::copy_of_rows<T>(from_image ? pixels : patch, from_image ? patch : pixels,
                                         walk.batch * high * wide, line);
        o.group = wide;
        o.from_group = o.to_group = Size * wide * line;
        walk.run(o);
      }
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
        detail::per_channel("token", ParameterRole::table, columns, {InitialValue::Kind::normal, 0.02})};
    static constexpr bool backward_reads_parameters(bool) { return false; }

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(detail::copy_of_rows<T>({call.parameters, 0}, {call.y, row}, walk.batch, columns));
      walk.run(detail::copy_of_rows<T>({call.x, X::size}, {call.y + columns * sizeof(T), row}, walk.batch, X::size));
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.trains())
        walk.run(detail::sum_of_rows<T, G>({call.d_y}, {call.gradients}, walk.batch, columns, call.add, row));
      if (call.wants_d_x())
        walk.run(
            detail::copy_of_rows<T>({call.d_y + columns * sizeof(T), row}, {call.d_x, X::size}, walk.batch, X::size));
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
      walk.run(detail::copy_of_rows<T>({call.x, X::size}, {call.y, X::columns}, walk.batch, X::columns));
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (!call.wants_d_x()) return;
      walk.run(op::Zero<T>{.y = {call.d_x}, .count = walk.batch * X::size});
      walk.run(detail::copy_of_rows<T>({call.d_y, X::columns}, {call.d_x, X::size}, walk.batch, X::columns));
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
