// regimen/layer/conv.hpp — convolutions of images: Conv2d.
#pragma once

#include <regimen/layer/in_order.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/window.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen {

// More options of Conv2d.
struct WindowOption {
  std::size_t height = 1, width = 1, depth = 0;
};
enum class DilationOption : std::size_t {};
enum class GroupsOption : std::size_t {};
/// The pixels that an output reads: KernelSize<3, 5> has 3 lines of 5 pixels, KernelSize<1, 3, 5> has 1 frame of 3
/// lines of 5 pixels. A single number is a square, or a cube.
template <std::size_t First, std::size_t Second = First, std::size_t... More>
inline constexpr WindowOption KernelSize{First, Second, sizeof...(More) == 0 ? 0 : ~std::size_t{0}};
template <std::size_t Depth, std::size_t Height, std::size_t Width>
inline constexpr WindowOption KernelSize<Depth, Height, Width>{Height, Width, Depth};
/// The distance of neighbouring pixels of the window, in lines and columns.
template <std::size_t Size>
inline constexpr DilationOption Dilation{Size};
/// The number of groups of channels. An output channel reads only the input channels of its group.
template <std::size_t Count>
inline constexpr GroupsOption Groups{Count};

namespace detail {

/// The options of a Conv2d, and how often each is given.
struct ConvOptions {
  std::size_t height = 1, width = 1, stride = 1, padding = 0, dilation = 1, groups = 1;
  bool bias = true;
  std::array<unsigned, 5> given{};
  bool known = true, numbers = false;  // numbers: an option is a bare one, or a second window

  constexpr void take(WindowOption window) { height = window.height, width = window.width, known &= window.depth == 0; }
  template <class Number>
    requires std::is_integral_v<Number>
  constexpr void take(Number window) {
    if constexpr (std::is_signed_v<Number>) known &= window >= 0;
    if (known) height = width = static_cast<std::size_t>(window);
  }
  constexpr void take(auto) { known = false; }

  constexpr void add(StrideOption size) { stride = static_cast<std::size_t>(size), ++given[0]; }
  constexpr void add(PaddingOption size) { padding = static_cast<std::size_t>(size), ++given[1]; }
  constexpr void add(DilationOption size) { dilation = static_cast<std::size_t>(size), ++given[2]; }
  constexpr void add(GroupsOption count) { groups = static_cast<std::size_t>(count), ++given[3]; }
  constexpr void add(LinearOption) { bias = false, ++given[4]; }
  template <class Other>
  constexpr void add(Other) {
    known = false, numbers |= std::is_integral_v<Other> || std::is_same_v<Other, WindowOption>;
  }

  constexpr bool are_sound() const {
    bool sound = known;
    for (const unsigned times : given) sound &= times <= 1;
    return sound;
  }
  /// Whether one number gives the window.
  constexpr bool has_one_extent() const { return height == width; }
  /// Whether each pixel is mapped alone, by a product.
  constexpr bool is_product() const { return height * width == 1 && stride == 1 && padding == 0 && groups == 1; }
  constexpr op::Convolution shape(std::size_t image_height, std::size_t image_width, std::size_t channels,
                                  std::size_t out_channels) const {
    return {.samples = 1,
            .height = image_height,
            .width = image_width,
            .channels = channels,
            .out_channels = out_channels,
            .window_height = height,
            .window_width = width,
            .stride = stride,
            .padding = padding,
            .dilation = dilation,
            .groups = groups};
  }
};
/// Kind   ConvOptions, or options that derive from them
template <class Kind, auto Window, auto... Options>
inline constexpr Kind conv_options = [] {
  Kind all;
  all.take(Window);
  (all.add(Options), ...);
  return all;
}();

template <>
inline constexpr ValuePlace value_place<DilationOption>{4, 1};
template <>
inline constexpr ValuePlace value_place<GroupsOption>{5, 1};
/// A window as it is written shortest.
template <class Kind, auto Window>
constexpr auto shortest_window() {
  constexpr Kind o = conv_options<Kind, Window>;
  if constexpr (o.known && o.has_one_extent()) return number_alone<o.width>();
  else return Window;
}
/// A convolution with options in order.
template <template <std::size_t, auto, auto...> class Layer, class Kind, std::size_t Channels, auto Window,
          auto... Options>
using conv_in_order =
    typename decltype(values_in_order<Layer, conv_options<Kind, Window, Options...>.are_sound(), Channels, Window,
                                      shortest_window<Kind, Window>(), Options...>())::type;

/// The parameters of a convolution.
template <bool has_bias>
constexpr auto conv_parameters(const op::Convolution& shape) {
  return weight_and_bias<has_bias>(
      4, {shape.out_channels, shape.window_height, shape.window_width, shape.group_channels()}, shape.depth());
}

/// A convolution of the images that a sample has, or becomes.   Form::shape, Output   of these images; of y
template <class Layer, class Form, class X, class Roles>
struct ConvBound : LayerDefaults {
  using T = typename X::Element;
  using G = typename Roles::reduce;
  using Element = T;
  using Output = Value<T, typename Form::Output>;
  static constexpr bool has_bias = Layer::options.bias;
  static constexpr auto parameters = conv_parameters<has_bias>(Form::shape);
  static constexpr Reads backward_reads(bool trains) { return trains ? Reads::input : Reads::nothing; }
  static constexpr bool backward_reads_parameters(bool wants_d_x) { return wants_d_x; }

  static constexpr op::Convolution shape(const auto& walk) {
    op::Convolution all = Form::shape;
    all.samples *= walk.batch;
    return all;
  }
  static constexpr void forward(auto& walk, const auto& call) {
    op::Conv<T> conv{.x = {call.x}, .weight = {call.parameters[0]}, .y = {call.y}, .shape = shape(walk)};
    if constexpr (has_bias) conv.bias = {call.parameters[1]};
    walk.run(conv);
  }
  static constexpr void backward(auto& walk, const auto& call) {
    const op::Convolution all = shape(walk);
    if (call.wants_d_x())
      walk.run(op::ConvInput<T>{.d_y = {call.d_y}, .weight = {call.parameters[0]}, .d_x = {call.d_x}, .shape = all});
    if (!call.trains()) return;
    walk.run(op::ConvWeight<T, G>{
        .x = {call.x}, .d_y = {call.d_y}, .d_weight = {call.gradients[0]}, .shape = all, .add = call.add});
    if constexpr (has_bias)
      walk.run(sum_of_rows<T, G>({call.d_y}, {call.gradients[1]}, all.positions(), all.out_channels, call.add));
  }
};
/// The images of Conv2d.
template <class Layer, class X>
struct ImageForm {
  static constexpr op::Convolution shape =
      Layer::options.shape(X::Shape::extent(0), X::Shape::extent(1), X::columns, Layer::channels);
  using Output = Shape<shape.out_height(), shape.out_width(), Layer::channels>;
};
/// A convolution of single pixels: a Linear whose weight has four extents.
template <class Layer, class X, class Roles>
struct PixelBound : LinearBound<Layer::channels, X, Roles, typename X::Element,
                                Layer::options.bias ? BiasIs::added_here : BiasIs::absent> {
  static constexpr auto parameters = conv_parameters<Layer::options.bias>(ImageForm<Layer, X>::shape);
};

/// A convolution of other inputs than images, by the convolution of images. Layer::Form<X> has
///   shape             of the images that a sample becomes          Output   the shape of y
///   weight            its extents, and how many
///   copies            whether prepare(walk, x, images) copies x to the images, of `elements` numbers; its derivative
///                     is restore(walk, d_images, d_x)
template <class Layer, class X, class Roles>
struct PreparedConvBound : ConvBound<Layer, typename Layer::template Form<X>, X, Roles> {
  using Form = typename Layer::template Form<X>;
  using OfImages = ConvBound<Layer, Form, X, Roles>;
  using typename OfImages::T;
  static constexpr op::Convolution of_one = Form::shape;
  static constexpr bool is_product =
      of_one.taps() == 1 && of_one.stride == 1 && of_one.padding == 0 && of_one.groups == 1;
  static constexpr auto parameters = [] {
    auto all = OfImages::parameters;
    all[0].rank = Form::weight_rank;
    all[0].extents = Form::weight;
    return all;
  }();
  using ForwardScratch = std::conditional_t<Form::copies, Tensors<PerSample<T, Form::elements>>, Tensors<>>;
  using BackwardScratch = ForwardScratch;

  static constexpr void forward(auto& walk, const auto& call) {
    auto of_images = call;
    of_images.x = images(walk, call);
    Run::forward(walk, of_images);
  }
  static constexpr void backward(auto& walk, const auto& call) {
    if constexpr (is_product && !Form::copies) {
      Run::backward(walk, call);
    } else {
      if (call.trains()) {
        auto of_parameters = call;
        of_parameters.x = images(walk, call);
        of_parameters.d_x = View<T>::absent;
        Run::backward(walk, of_parameters);
      }
      if (call.wants_d_x()) {
        auto of_input = call;
        if constexpr (Form::copies) of_input.d_x = call.scratch[0];
        of_input.gradients.at[0] = View<T>::absent;
        Run::backward(walk, of_input);
        if constexpr (Form::copies) Form::restore(walk, call.scratch[0], call.d_x);
      }
    }
  }

 private:
  /// For windows of one pixel: a product, whose rows are pixels' channels.
  using Product = LinearBound<Layer::channels, Value<T, Shape<of_one.positions(), of_one.channels>>, Roles, T,
                              OfImages::has_bias ? BiasIs::added_here : BiasIs::absent>;
  using Run = std::conditional_t<is_product, Product, OfImages>;

  static constexpr std::size_t images(auto& walk, const auto& call) {
    if constexpr (!Form::copies) return call.x;
    else return Form::prepare(walk, call.x, call.scratch[0]), call.scratch[0];
  }
};

}  // namespace detail

namespace in_order {
/// regimen::Conv2d, written in this order: window, then options.
template <std::size_t Channels, auto Window, auto... Options>
struct Conv2d final {
  static constexpr const char* name = "conv2d";
  static constexpr bool couples_samples = false;
  static constexpr std::size_t channels = Channels;
  static constexpr detail::ConvOptions options = detail::conv_options<detail::ConvOptions, Window, Options...>;
  template <class X, class Roles>
  using Bound = std::conditional_t<options.is_product(), detail::PixelBound<Conv2d, X, Roles>,
                                   detail::ConvBound<Conv2d, detail::ImageForm<Conv2d, X>, X, Roles>>;
};
}  // namespace in_order

/// y[b,i,j,o] = bias[o] + Σ over r, s, c of weight[o,r,s,c] · x[b, i·stride + r·dilation − padding,
///                                                            j·stride + s·dilation − padding, c], x being 0 outside
///
///   x (B,H,W,C), y (B,H',W',Channels)   H' = ⌊(H + 2·padding − dilation·(R − 1) − 1) / stride⌋ + 1, W' alike
///   weight (Channels,R,S,C/groups)      uniform in ±1/√(R·S·C/groups); c counts the channels of o's group
///   bias (Channels)                     zero
///
/// Conv2d<64, 3> has a window of 3 x 3, Conv2d<64, KernelSize<R, S>> any other. Options, in any order, each once:
/// Stride<2>, Padding<1>, Dilation<2>, Groups<N> (depthwise with as many groups as channels), NoBias.
/// error    sums in at least fp32; one rounding. The CPU computes windows of 3 x 3 with stride 1, without dilation and
///          groups, of 32 channels or more on both sides, with 4/9 of the multiplications (Lavin, Gray 2015,
///          F(2x2,3x3)): the sum of the rounded terms is then up to 36 · max |x| · Σ |weights of an output|, and one
///          number that is not finite spreads to all pixels of its tiles of 2 x 2
/// refuses  a window that is larger than the padded image; groups that do not divide C and Channels
/// cost     2·B·H'·W'·Channels·R·S·C/groups flops forward, twice that backward; saves x. A window of one pixel without
///          stride, padding and groups is the product of Linear. For other windows the CPU gathers tiles of windows,
///          multiplies each tile at once, and stores none; it computes 16-bit numbers as fp32; groups of few channels,
///          except depthwise ones, leave most of its registers idle. A GPU runs plain loops without tensor cores, or
///          cuDNN by Convolution<Cudnn>
template <std::size_t Channels, auto Window, auto... Options>
using Conv2d = detail::conv_in_order<in_order::Conv2d, detail::ConvOptions, Channels, Window, Options...>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
