// Convolutions as types: shapes, parameters, options, costs.
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>

#include "support/catch.hpp"

#include <array>
#include <type_traits>

using namespace regimen;

namespace {

using OfRoles = Roles<fp32, fp32, fp32>;
template <class Layer, class Image>
using Bound = typename Layer::template Bound<Value<fp32, Image>, OfRoles>;
template <class Layer, class Image>
using Out = typename Bound<Layer, Image>::Output::Shape;

// floor((H + 2P - D(R - 1) - 1) / stride) + 1
static_assert(std::is_same_v<Out<Conv2d<8, 3>, Shape<5, 7, 2>>, Shape<3, 5, 8>>);
static_assert(std::is_same_v<Out<Conv2d<8, 3, Padding<1>, Stride<2>>, Shape<5, 8, 2>>, Shape<3, 4, 8>>);
static_assert(
    std::is_same_v<Out<Conv2d<8, KernelSize<1, 4>, Dilation<2>, Padding<1>>, Shape<5, 8, 2>>, Shape<7, 4, 8>>);
static_assert(std::is_same_v<Out<Conv2d<8, 1>, Shape<5, 8, 2>>, Shape<5, 8, 8>>);
static_assert(std::is_same_v<Out<Conv2d<8, 1, Stride<3>>, Shape<5, 8, 2>>, Shape<2, 3, 8>>);
static_assert(Conv2d<8, 1>::options.is_product() && Conv2d<8, KernelSize<1>, NoBias>::options.is_product());
static_assert(!Conv2d<8, 1, Stride<2>>::options.is_product() && !Conv2d<8, 1, Groups<2>>::options.is_product());

static_assert(Conv2d<8, 3, NoBias, Stride<2>, Groups<2>>::options.are_sound());
static_assert(!Conv2d<8, 3, Stride<2>, Stride<2>>::options.are_sound() && !Conv2d<8, -1>::options.are_sound());
static_assert(!Conv2d<8, 3, 2>::options.are_sound() && !Conv2d<8, Stride<2>>::options.are_sound());

template <class Layer, class Image, std::size_t in, std::size_t high, std::size_t wide>
constexpr bool has_weight(std::size_t count) {
  const auto& all = Bound<Layer, Image>::parameters;
  const Parameter& weight = all[0];
  return all.size() == count && weight.rank == 4 && weight.extents[0] == Layer::channels && weight.extents[1] == high &&
         weight.extents[2] == wide && weight.extents[3] == in && weight.role == ParameterRole::matrix &&
         weight.fill.scale * weight.fill.scale * double(in * high * wide) > 1 - 1e-12 &&
         weight.fill.scale * weight.fill.scale * double(in * high * wide) < 1 + 1e-12;
}
static_assert(has_weight<Conv2d<8, KernelSize<3, 2>>, Shape<5, 7, 6>, 6, 3, 2>(2));
static_assert(has_weight<Conv2d<8, 3, Groups<2>, NoBias>, Shape<5, 7, 6>, 3, 3, 3>(1));
static_assert(has_weight<Conv2d<8, 1>, Shape<5, 7, 6>, 6, 1, 1>(2));

static_assert(!Conv2d<8, KernelSize<1, 3, 3>>::options.are_sound());

static_assert(std::is_same_v<Out<Conv1d<8, 3>, Shape<7, 2>>, Shape<5, 8>>);
static_assert(std::is_same_v<Out<Conv1d<8, 4, Padding<3>, Dilation<2>, Stride<2>>, Shape<7, 2>>, Shape<4, 8>>);
static_assert(std::is_same_v<Out<Conv1d<8, 4, CausalPadding, Dilation<2>>, Shape<7, 2>>, Shape<7, 8>>);
static_assert(std::is_same_v<Out<Conv1d<8, 3, CausalPadding, Stride<2>>, Shape<7, 2>>, Shape<4, 8>>);
static_assert(!Conv1d<8, 3, CausalPadding>::looks_ahead && !Conv1d<8, 1>::looks_ahead);
static_assert(Conv1d<8, 3, Padding<1>>::looks_ahead && Conv1d<8, 3, CausalPadding, Stride<2>>::looks_ahead);
static_assert(!Conv1d<8, 3, CausalPadding, Padding<1>>::options.are_sound() &&
              !Conv1d<8, KernelSize<3>>::options.are_sound());
static_assert(!Conv1d<8, 3, CausalPadding, CausalPadding>::options.are_sound() &&
              !Conv1d<8, 3, 2>::options.are_sound());
static_assert(Bound<Conv1d<8, 3, Groups<2>>, Shape<7, 6>>::parameters[0].extents ==
              std::array<std::size_t, 4>{8, 3, 3, 1});
static_assert(Bound<Conv1d<8, 3>, Shape<7, 6>>::parameters[0].rank == 3 &&
              Bound<Conv1d<8, 3, NoBias>, Shape<7, 6>>::parameters.size() == 1);

static_assert(std::is_same_v<Out<Conv3d<8, 3>, Shape<4, 5, 7, 2>>, Shape<2, 3, 5, 8>>);
static_assert(
    std::is_same_v<Out<Conv3d<8, KernelSize<3, 1, 2>, Padding<1>, Stride<2>>, Shape<4, 5, 8, 2>>, Shape<2, 4, 5, 8>>);
static_assert(!Conv3d<8, KernelSize<3>>::options.are_sound() &&
              !Conv3d<8, KernelSize<3, 3, 3, 3>>::options.are_sound());
static_assert(has_weight<Conv3d<8, KernelSize<4, 3, 2>, Groups<2>>, Shape<5, 5, 7, 6>, 12, 3, 2>(2));
// A copy of the frames that windows read: 3 for each of 2 places; none where each frame is alone.
static_assert(Bound<Conv3d<8, KernelSize<3, 1, 1>>, Shape<4, 5, 7, 2>>::ForwardScratch::bytes(10)[0] >=
              10 * 2 * 5 * 7 * 3 * 2 * sizeof(fp32));
static_assert(Bound<Conv3d<8, KernelSize<1, 3, 3>>, Shape<4, 5, 7, 2>>::ForwardScratch::count == 0);

}  // namespace

TEST_CASE("a convolution costs its multiplications, and moves each tensor once") {
  constexpr op::Convolution o{.samples = 2,
                              .height = 5,
                              .width = 7,
                              .channels = 6,
                              .out_channels = 8,
                              .window_height = 3,
                              .window_width = 3,
                              .stride = 2,
                              .padding = 1,
                              .groups = 2};
  CHECK(o.positions() == 2 * 3 * 4);
  CHECK(o.depth() == 9 * 3);
  const op::Conv<bf16> plain{{0}, {0}, {0}, o}, biased{{0}, {0}, {0}, o, {0}};
  CHECK(plain.cost().flops == 2.0 * 24 * 8 * 27);
  CHECK(plain.cost().bytes == 2.0 * (2 * 5 * 7 * 6 + 8 * 27 + 24 * 8));
  CHECK(biased.cost().flops == plain.cost().flops + 24 * 8);
  CHECK(biased.cost().bytes == plain.cost().bytes + 2 * 8);
  CHECK(op::ConvInput<bf16>{{0}, {0}, {0}, o}.cost().bytes == plain.cost().bytes);
  const op::ConvWeight<bf16, fp32> weight{{0}, {0}, {0}, o}, added{{0}, {0}, {0}, o, true};
  CHECK(weight.cost().flops == plain.cost().flops);
  CHECK(weight.cost().bytes == 2.0 * (2 * 5 * 7 * 6 + 24 * 8) + 4.0 * 8 * 27);
  CHECK(added.cost().bytes == weight.cost().bytes + 4.0 * 8 * 27);
}
