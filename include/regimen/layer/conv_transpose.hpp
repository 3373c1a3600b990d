// regimen/layer/conv_transpose.hpp — convolutions that enlarge images: ConvTranspose2d.
#pragma once

#include <regimen/layer/conv.hpp>

#include <cstddef>

namespace regimen {

enum class OutputPaddingOption : std::size_t {};
/// Adds lines and columns to the end of the output: a Conv2d with a stride maps several sizes to one, and this option
/// chooses among them.
template <std::size_t Size>
inline constexpr OutputPaddingOption OutputPadding{Size};

namespace detail {

struct ConvTransposeOptions : ConvOptions {
  std::size_t output_padding = 0;
  unsigned output_paddings = 0;

  using ConvOptions::add;
  constexpr void add(OutputPaddingOption size) { output_padding = static_cast<std::size_t>(size), ++output_paddings; }
  constexpr bool are_sound() const { return ConvOptions::are_sound() && output_paddings <= 1; }
  /// Lines of the output, before padding removes some at both ends.
  constexpr std::size_t padded(std::size_t extent, std::size_t window) const {
    return (extent - 1) * stride + dilation * (window - 1) + 1 + output_padding;
  }
};
template <>
inline constexpr ValuePlace value_place<OutputPaddingOption>{3, 0};

}  // namespace detail

namespace in_order {
/// regimen::ConvTranspose2d, written in this order: window, then options.
template <std::size_t Channels, auto Window, auto... Options>
struct ConvTranspose2d final {
  static constexpr const char* name = "conv_transpose2d";
  static constexpr bool couples_samples = false;
  static constexpr std::size_t channels = Channels;
  static constexpr detail::ConvTransposeOptions options =
      detail::conv_options<detail::ConvTransposeOptions, Window, Options...>;

  /// The convolution whose gradient this is: from the output to x.
  template <class X>
  struct Form {
    static constexpr std::size_t height = options.padded(X::Shape::extent(0), options.height) - 2 * options.padding,
                                 width = options.padded(X::Shape::extent(1), options.width) - 2 * options.padding;
    static constexpr op::Convolution shape = options.shape(height, width, Channels, X::columns);
    using Output = Shape<height, width, Channels>;
  };
  template <class X, class Roles>
  struct Bound : detail::ConvBound<ConvTranspose2d, Form<X>, X, Roles> {
    using Base = detail::ConvBound<ConvTranspose2d, Form<X>, X, Roles>;
    using typename Base::G;
    using typename Base::T;
    static constexpr auto parameters = [] {
      auto all = Base::parameters;
      if constexpr (options.bias) all[1].extents[0] = Channels;
      return all;
    }();

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::ConvInput<T>{
          .d_y = {call.x}, .weight = {call.parameters[0]}, .d_x = {call.y}, .shape = Base::shape(walk)});
      if constexpr (options.bias)
        walk.run(op::BiasActivation<activation::Identity, T>{.x = {call.y},
                                                             .bias = {call.parameters[1]},
                                                             .y = {call.y},
                                                             .rows = Base::shape(walk).pixels(),
                                                             .columns = Channels});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x())
        walk.run(
            op::Conv<T>{.x = {call.d_y}, .weight = {call.parameters[0]}, .y = {call.d_x}, .shape = Base::shape(walk)});
      if (call.trains()) {
        walk.run(op::ConvWeight<T, G>{.x = {call.d_y},
                                      .d_y = {call.x},
                                      .d_weight = {call.gradients[0]},
                                      .shape = Base::shape(walk),
                                      .add = call.add});
        if constexpr (options.bias)
          walk.run(detail::sum_of_rows<T, G>({call.d_y}, {call.gradients[1]}, Base::shape(walk).pixels(), Channels,
                                             call.add));
      }
    }
  };
};
}  // namespace in_order

/// The gradient of Conv2d as a layer: y[b, i·stride + r·dilation − padding, j·stride + s·dilation − padding, o] is the
/// sum of weight[c,r,s,o] · x[b,i,j,c] over all i, j, r, s, c with this index of y, plus bias[o]
///
///   x (B,H,W,C), y (B,H',W',Channels)   H' = (H − 1)·stride − 2·padding + dilation·(R − 1) + 1 + output padding;
///                                       W' alike
///   weight (C,R,S,Channels/groups)      uniform in ±1/√(R·S·Channels/groups), as PyTorch's; o counts the channels of
///                                       c's group
///   bias (Channels)                     zero
///
/// ConvTranspose2d<64, 2, Stride<2>> doubles height and width. Options: the options of Conv2d, and OutputPadding<N>.
/// error    sums in at least fp32; one rounding, and one of the bias
/// refuses  padding that leaves no output; output padding not below the stride; groups that do not divide C
///          and Channels
/// cost     2·B·H·W·C·R·S·Channels/groups flops forward, twice that backward; saves x. The operations are Conv2d's
template <std::size_t Channels, auto Window, auto... Options>
using ConvTranspose2d =
    detail::conv_in_order<in_order::ConvTranspose2d, detail::ConvTransposeOptions, Channels, Window, Options...>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
