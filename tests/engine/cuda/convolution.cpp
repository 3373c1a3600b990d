// Convolutions by the library: on the emulated device they are their definition, and refuse what cuDNN refuses.
#include "../cpu/convolution_definition.hpp"

#include <regimen/engine/emulated/device.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace test;

namespace {

using ::test::Arena;

template <class Form>
using EngineOf = cuda::Engine<emulated::Runtime,
                              regimen::detail::policies_by_axis<Attention<>, Convolution<Form>, Communicator<Solo>>>;

/// What a tensor of the arena holds after the operation on the device, by the library.
template <class Form, class Operation, class T>
Values on_the_device(const Arena& arena, const Operation& operation, View<T> view, std::size_t count) {
  using Engine = EngineOf<Form>;
  const std::size_t bytes = regimen::TensorArena::align(arena.bytes().size());
  Engine engine({.bytes = bytes + Engine::Traits::scratch(operation)});
  std::vector<std::byte> all = arena.bytes();
  engine.upload(0, all).wait();
  engine.prepare([&] { engine.run(operation, bytes); });
  engine.run(operation, bytes);
  engine.download(0, all).wait();
  Values result(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, all.data() + view.offset + i * sizeof(T), sizeof value);
    result[i] = number(value);
  }
  return result;
}
/// Tensors of the library begin at multiples of 16 bytes.
template <class T>
View<T> put(Arena& arena, const Values& values) {
  arena.begin_past(0);
  return arena.put<T>(values);
}
template <class T>
View<T> room(Arena& arena, std::size_t count) {
  arena.begin_past(0);
  return arena.room<T>(count);
}

/// A sum of `terms` products in S, whatever its order: each of |term| is rounded at most once for each addition.
template <class S>
double error_of_sum(double terms, double size) {
  return (terms + 1) * epsilon_of<S> * size;
}

}  // namespace

/// y is rounded once, and once more with the bias; d_weight in 16 bits once in T, and added in fp32.
TEMPLATE_TEST_CASE("convolutions by the library are what their definition gives", "", double, float, bf16, fp16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const op::Convolution& o : convolutions) {
    CAPTURE(o.height, o.width, o.channels, o.out_channels, o.window_height, o.window_width, o.stride, o.padding,
            o.dilation, o.groups);
    const std::size_t inputs = o.pixels() * o.channels, outputs = o.positions() * o.out_channels;
    const Values x = values<T>(inputs, 2, 1), w = values<T>(o.weights(), 2, 2), d_y = values<T>(outputs, 2, 3),
                 bias = values<T>(o.out_channels, 2, 4), before = values<S>(o.weights(), 2, 5),
                 before_in_t = values<T>(o.weights(), 2, 6);
    const OfConvolution exact = defined(o, x, w, d_y);
    ::test::Arena arena;
    const View<T> at_x = put<T>(arena, x), at_w = put<T>(arena, w), at_y = put<T>(arena, d_y),
                  at_bias = put<T>(arena, bias), y = room<T>(arena, outputs), d_x = room<T>(arena, inputs);
    const View<S> d_w = put<S>(arena, before);
    const View<T> d_w_in_t = put<T>(arena, before_in_t);
    const auto is = [&](const Values& found, const Values& wanted, const auto& error) {
      CHECK(misses(found, wanted, error) == 0);
    };
    const auto once = [&](const Values& wanted, const Values& size, double terms) {
      return [&, terms](std::size_t i) {
        const double sum = error_of_sum<S>(terms, size[i]);
        return sum + rounding_of<T>(std::fabs(wanted[i]) + sum);
      };
    };
    const auto of_y = once(exact.y, exact.y_size, double(o.depth()));
    const auto of_w = once(exact.d_weight, exact.d_weight_size, double(o.positions()));
    is(on_the_device<Cudnn>(arena, op::Conv<T>{at_x, at_w, y, o}, y, outputs), exact.y, of_y);
    Values biased = exact.y;
    for (std::size_t i = 0; i < outputs; ++i) biased[i] += bias[i % o.out_channels];
    is(on_the_device<Cudnn>(arena, op::Conv<T>{at_x, at_w, y, o, at_bias}, y, outputs), biased, [&](std::size_t i) {
      const double before_bias = of_y(i);
      return before_bias + 2 * rounding_of<T>(std::fabs(biased[i]) + before_bias) +
             epsilon_of<S> * std::fabs(biased[i]);
    });
    is(on_the_device<Cudnn>(arena, op::ConvInput<T>{at_y, at_w, d_x, o}, d_x, inputs), exact.d_x,
       once(exact.d_x, exact.d_x_size, double(o.taps() * o.group_outputs())));
    is(on_the_device<Cudnn>(arena, op::ConvWeight<T, S>{at_x, at_y, d_w, o}, d_w, o.weights()), exact.d_weight, of_w);
    Values sums = exact.d_weight, sums_in_t = exact.d_weight;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += before[i], sums_in_t[i] += before_in_t[i];
    is(on_the_device<Cudnn>(arena, op::ConvWeight<T, S>{at_x, at_y, d_w, o, true}, d_w, o.weights()), sums,
       [&](std::size_t i) { return of_w(i) + 2 * rounding_of<S>(std::fabs(sums[i]) + of_w(i)); });
    is(on_the_device<Cudnn>(arena, op::ConvWeight<T, T>{at_x, at_y, d_w_in_t, o, true}, d_w_in_t, o.weights()),
       sums_in_t, [&](std::size_t i) {
         const double sum =
             error_of_sum<S>(double(o.positions()) + 1, exact.d_weight_size[i] + std::fabs(before_in_t[i]));
         return sum + rounding_of<T>(std::fabs(sums_in_t[i]) + sum);
       });
  }
}

/// Of fp32 and fp64 both forms sum alike; of 16 bits they differ in the second rounding alone.
TEMPLATE_TEST_CASE("both forms give one result where sums are exact", "", double, float, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  const op::Convolution o = convolutions[4];
  const std::size_t inputs = o.pixels() * o.channels, outputs = o.positions() * o.out_channels;
  Values x(inputs), w(o.weights()), d_y(outputs);
  for (Values* const all : {&x, &w, &d_y})
    for (std::size_t i = 0; i < all->size(); ++i) (*all)[i] = double(i * 7 % 3) - 1;
  ::test::Arena arena;
  const View<T> at_x = put<T>(arena, x), at_w = put<T>(arena, w), at_y = put<T>(arena, d_y),
                y = room<T>(arena, outputs), d_x = room<T>(arena, inputs);
  const View<S> d_w = room<S>(arena, o.weights());
  const auto agree = [&](const auto& operation, const auto& view, std::size_t count) {
    CHECK(on_the_device<Cudnn>(arena, operation, view, count) == on_the_device<Direct>(arena, operation, view, count));
  };
  agree(op::Conv<T>{at_x, at_w, y, o}, y, outputs);
  agree(op::ConvInput<T>{at_y, at_w, d_x, o}, d_x, inputs);
  agree(op::ConvWeight<T, S>{at_x, at_y, d_w, o}, d_w, o.weights());
}

TEST_CASE("of no samples there is nothing, and its gradient of a weight is zero") {
  op::Convolution o = convolutions[1];
  o.samples = 0;
  ::test::Arena arena;
  const Values before = values<float>(o.weights());
  const View<float> nothing = room<float>(arena, 1), d_w = put<float>(arena, before),
                    w = room<float>(arena, o.weights());
  const auto d_weight = [&](bool add) {
    return on_the_device<Cudnn>(arena, op::ConvWeight<float, float>{nothing, nothing, d_w, o, add}, d_w, o.weights());
  };
  CHECK(d_weight(false) == Values(o.weights()));
  CHECK(d_weight(true) == before);
  CHECK(std::isnan(on_the_device<Cudnn>(arena, op::Conv<float>{nothing, w, nothing, o}, nothing, 1)[0]));
}

TEST_CASE("cuDNN refuses shapes, sums and addresses") {
  using Descriptor = cuda::ConvolutionDescriptor;
  emulated::Runtime device({.memory = std::size_t{1} << 20});
  Descriptor good;
  good.shape = {.samples = 1, .height = 2, .width = 2, .channels = 2, .out_channels = 4};
  good.workspace = 256;
  const auto refuses = [&](auto change, const char* words) {
    Descriptor convolution = good;
    change(convolution);
    CHECK_THAT(::test::error_of([&] { (void)device.make_convolution(convolution); }), Catch::Contains(words));
  };
  refuses([](auto& c) { c.shape.samples = 0; }, "tensors with elements");
  refuses([](auto& c) { c.shape.stride = 0; }, "of one or more");
  refuses([](auto& c) { c.shape.dilation = 0; }, "of one or more");
  refuses([](auto& c) { c.shape.groups = 3; }, "groups that divide the channels");
  refuses([](auto& c) { c.shape.window_height = 3; }, "a window within the padded image");
  refuses([](auto& c) { c.add = true; }, "a sum of gradients of the weight alone");
  const auto queue = device.make_stream();
  std::byte* const at = device.allocate(1024, "tensors");
  const auto made = device.make_convolution(good);
  const cuda::ConvolutionTensors tensors{at, at + 256, at + 512};
  device.convolve(made, tensors, at + 768, queue);
  cuda::ConvolutionTensors shifted = tensors;
  shifted.y += 8;
  CHECK_THAT(::test::error_of([&] { device.convolve(made, shifted, at + 768, queue); }),
             Catch::Contains("a multiple of 16 bytes"));
  shifted.y = at + 1024 - 16;
  CHECK_THAT(::test::error_of([&] { device.convolve(made, shifted, at + 768, queue); }), Catch::Contains("cuDNN's y"));
  CHECK_THAT(::test::error_of([&] { device.convolve(made, tensors, at + 1024 - 16, queue); }),
             Catch::Contains("cuDNN's workspace"));
}

namespace {
template <class T, class G>
constexpr op::ConvWeight<T, G> gradient{
    {},
    {},
    {},
    {.samples = 8, .height = 9, .width = 9, .channels = 16, .out_channels = 32, .window_height = 3, .window_width = 3}};
using InLibrary = EngineOf<Cudnn>::Traits;
}  // namespace
static_assert(InLibrary::scratch(gradient<float, float>) == emulated::Runtime::workspace);
static_assert(InLibrary::scratch(gradient<bf16, bf16>) == emulated::Runtime::workspace);
static_assert(InLibrary::scratch(gradient<bf16, float>) == emulated::Runtime::workspace + 2 * 9 * 16 * 32);
static_assert(std::is_same_v<EngineOf<OfDevice>::Traits::convolution, Direct>);
// SPDX-License-Identifier: Apache-2.0
