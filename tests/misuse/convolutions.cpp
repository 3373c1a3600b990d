// Convolutions and pools: windows, strides, padding, images.
#include "support/model_recipe.hpp"

#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>

using namespace regimen;

// ---- conv_takes_options ---------------------------------------------------------------------------------------------
// Two strides.
// expect: a convolution takes Stride<N>, one padding, Dilation<N>, Groups<N> and NoBias; write each at most once
// names: regimen::in_order::Conv2d<8, 3
namespace conv_takes_options {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Stride<2>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Stride<2>, Stride<2>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace conv_takes_options

// ---- conv_takes_options_1d ------------------------------------------------------------------------------------------
// Two paddings.
// expect: a convolution takes Stride<N>, one padding, Dilation<N>, Groups<N> and NoBias; write each at most once
// names: regimen::in_order::Conv1d<8, 3
namespace conv_takes_options_1d {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Series<6, 3>>, Conv1d<8, 3, CausalPadding>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Series<6, 3>>, Conv1d<8, 3, CausalPadding, Padding<1>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace conv_takes_options_1d

// ---- conv_takes_options_window --------------------------------------------------------------------------------------
// PyTorch's channels of the input, and a window that has its name.
// expect: a convolution knows its input's channels, and options have names; write Conv2d<64, 3, Stride<2>>
// names: Conv2d<3, 8
namespace conv_takes_options_window {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, KernelSize<3, 3>>, Relu, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<3, 8, KernelSize<3, 3>>, Relu, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace conv_takes_options_window

// ---- conv_transpose2d_takes_options ---------------------------------------------------------------------------------
// Two strides, of which one would be ignored.
// expect: ConvTranspose2d<N, Window> takes the options of Conv2d, and OutputPadding<N>; write each at most once
// names: ConvTranspose2d<8
namespace conv_transpose2d_takes_options {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 2, Stride<2>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 2, Stride<2>, Stride<3>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace conv_transpose2d_takes_options

// ---- extents_at_least_one_conv2d ------------------------------------------------------------------------------------
// A convolution that never moves on.
// expect: this layer has an extent of zero; write extents of at least one
// names: regimen::in_order::Conv2d<8, 3
namespace extents_at_least_one_conv2d {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Stride<1>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Stride<0>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace extents_at_least_one_conv2d

// ---- groups_divide_channels -----------------------------------------------------------------------------------------
// Groups that would not be equal.
// expect: Groups<N> cuts channels into equal runs; let N divide those of the layer and of its input
// names: regimen::Shape<6, 6, 8>
namespace groups_divide_channels {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 8>>, Conv2d<12, 3, Groups<4>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 8>>, Conv2d<12, 3, Groups<3>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace groups_divide_channels

// ---- layer_takes_images ---------------------------------------------------------------------------------------------
// Pooling behind Flatten.
// expect: this layer takes images \(height, width, channels\); put it before what makes them something else
// names: regimen::Shape<108>
namespace layer_takes_images {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, MaxPool<2>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Flatten, MaxPool<2>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace layer_takes_images

// ---- layer_takes_volumes --------------------------------------------------------------------------------------------
// An image where frames of images belong.
// expect: this layer takes volumes \(depth, height, width, channels\); begin the model with Input<Volume<\.\.\.>>
// names: regimen::Shape<6, 6, 3>
namespace layer_takes_volumes {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Volume<4, 6, 6, 3>>, Conv3d<8, 3>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Conv3d<8, 3>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace layer_takes_volumes

// ---- output_padding_below_stride ------------------------------------------------------------------------------------
// A line more, where no stride leaves it open.
// expect: OutputPadding<N> chooses among sizes that Stride makes one; let N be less than the stride
// names: ConvTranspose2d<8
namespace output_padding_below_stride {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 3, Stride<2>, OutputPadding<1>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 3, OutputPadding<1>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace output_padding_below_stride

// ---- padding_leaves_output ------------------------------------------------------------------------------------------
// Padding of four lines of seven.
// expect: the padding of ConvTranspose2d takes off all of its output; let Padding<N> be smaller
// names: ConvTranspose2d<8
namespace padding_leaves_output {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 3, Stride<2>, Padding<3>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 3, Stride<2>, Padding<4>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace padding_leaves_output

// ---- pool_takes_options ---------------------------------------------------------------------------------------------
// A pool with the dilation of a convolution.
// expect: MaxPool<N> and AveragePool<N> take Stride<N> and Padding<N>; write each at most once, and no other
// names: MaxPool<3
namespace pool_takes_options {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 7, 3>>, MaxPool<3, Stride<2>, Padding<1>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 7, 3>>, MaxPool<3, Stride<2>, Dilation<2>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace pool_takes_options

// ---- resampling_takes_mode ------------------------------------------------------------------------------------------
// A mode of another library.
// expect: Upsample<N> and Downsample<N> take pixels, with Bilinear behind N they interpolate; write one of them
// names: Bicubic
namespace resampling_takes_mode {
struct Bicubic {};

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 7, 3>>, Upsample<2, Bilinear>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 7, 3>>, Upsample<2, Bicubic>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace resampling_takes_mode

// ---- resampling_takes_mode_more -------------------------------------------------------------------------------------
// A mode of another library, to a smaller image.
// expect: Upsample<N> and Downsample<N> take pixels, with Bilinear behind N they interpolate; write one of them
// names: Bicubic
namespace resampling_takes_mode_more {
struct Bicubic {};

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 8, 3>>, Downsample<2, Bilinear>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 8, 3>>, Downsample<2, Bicubic>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace resampling_takes_mode_more

// ---- squares_divide_image -------------------------------------------------------------------------------------------
// Patches that leave a margin.
// expect: Patches<N>, MaxPool<N>, AveragePool<N> and Downsample<N> cut images into squares; let N divide height and width
// names: regimen::Shape<6, 9, 3>
namespace squares_divide_image {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 9, 3>>, Patches<3>, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 9, 3>>, Patches<2>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace squares_divide_image

// ---- window_fits_image ----------------------------------------------------------------------------------------------
// A window that spans nine pixels of six.
// expect: a window is larger than the padded input; make the window smaller, or add Padding<N>
// names: regimen::Shape<6, 6, 3>
namespace window_fits_image {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Dilation<4>, Padding<4>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Dilation<4>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace window_fits_image

// ---- window_fits_image_pool -----------------------------------------------------------------------------------------
// A window of nine pixels of six.
// expect: a window is larger than the padded input; make the window smaller, or add Padding<N>
// names: regimen::Shape<6, 7, 3>
namespace window_fits_image_pool {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 7, 3>>, AveragePool<9, Padding<2>, Stride<1>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 7, 3>>, AveragePool<9, Stride<1>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace window_fits_image_pool

// ---- window_sees_pixels ---------------------------------------------------------------------------------------------
// As much padding as window.
// expect: a window of this pool lies in the padding alone; let Padding<N> be less than the size of the window
// names: AveragePool<2
namespace window_sees_pixels {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 7, 3>>, AveragePool<2, Padding<1>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 7, 3>>, AveragePool<2, Padding<2>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace window_sees_pixels
// SPDX-License-Identifier: Apache-2.0
