// tests/engine/cpu/convolution.cpp — convolutions beside their definition.
#include "convolution_definition.hpp"

#include <regimen/engine/cpu/convolution.hpp>

using namespace regimen;
using namespace test;

namespace {

/// A convolution's tensors and operations in an arena. Gradients of weights are fp32, or fp64.
template <class T>
struct Operations {
  using G = statistic_t<T>;
  op::Conv<T> conv, biased;
  op::ConvInput<T> input;
  op::ConvWeight<T, G> weight, added;

  Operations(Arena& arena, const op::Convolution& o, const Values& x, const Values& w, const Values& b,
             const Values& d_y, const Values& before) {
    conv = {arena.put<T>(x), arena.put<T>(w), arena.room<T>(d_y.size()), o};
    biased = {conv.x, conv.weight, arena.room<T>(d_y.size()), o, arena.put<T>(b)};
    input = {arena.put<T>(d_y), conv.weight, arena.room<T>(x.size()), o};
    weight = {conv.x, input.d_y, arena.room<G>(w.size()), o};
    added = {conv.x, input.d_y, arena.put<G>(before), o, true};
  }
  void compute(Arena& arena) const {
    cpu::compute(conv, arena.memory_for(conv));
    cpu::compute(biased, arena.memory_for(biased));
    cpu::compute(input, arena.memory_for(input));
    cpu::compute(weight, arena.memory_for(weight));
    cpu::compute(added, arena.memory_for(added));
  }
};

}  // namespace

TEMPLATE_TEST_CASE("convolutions and their gradients are what their definition gives", "", float, double, bf16, fp16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const op::Convolution& o : convolutions) {
    CAPTURE(o.height, o.width, o.channels, o.out_channels, o.window_height, o.window_width, o.stride, o.padding,
            o.dilation, o.groups);
    const std::size_t inputs = o.pixels() * o.channels, outputs = o.positions() * o.out_channels;
    const Values x = values<T>(inputs, 2, 1), w = values<T>(o.weights(), 1, 2), b = values<T>(o.out_channels, 1, 3),
                 d_y = values<T>(outputs, 1, 4), before = values<S>(o.weights(), 3, 5);
    const OfConvolution wanted = defined(o, x, w, d_y);
    Arena arena(std::size_t{1} << 22);
    const Operations<T> run(arena, o, x, w, b, d_y, before);
    run.compute(arena);
    // As many roundings as there are terms and one more, each of at most the sum of all sizes; then that of T.
    const auto within = [&](const Values& sum, const Values& size, std::size_t terms) {
      return [&, terms](std::size_t i) {
        return double(terms + 1) * epsilon_of<S> / 2 * size[i] * 1.01 + rounding_of<T>(sum[i]) * 1.01;
      };
    };
    CHECK(misses(arena.get(run.conv.y, outputs), wanted.y, within(wanted.y, wanted.y_size, o.depth())) == 0);
    Values sum = wanted.y, size = wanted.y_size;
    for (std::size_t i = 0; i < outputs; ++i)
      sum[i] += b[i % o.out_channels], size[i] += std::fabs(b[i % o.out_channels]);
    CHECK(misses(arena.get(run.biased.y, outputs), sum, within(sum, size, o.depth() + 1)) == 0);
    CHECK(misses(arena.get(run.input.d_x, inputs), wanted.d_x,
                 within(wanted.d_x, wanted.d_x_size, o.taps() * o.group_outputs())) == 0);
    const auto of_weights = [&](const Values& whole, const Values& sizes) {
      return [&](std::size_t i) {
        return double(o.positions() + 2) * epsilon_of<S> / 2 * (sizes[i] + std::fabs(whole[i])) * 1.01;
      };
    };
    CHECK(misses(arena.get(run.weight.d_weight, w.size()), wanted.d_weight,
                 of_weights(wanted.d_weight, wanted.d_weight_size)) == 0);
    sum = wanted.d_weight, size = wanted.d_weight_size;
    for (std::size_t i = 0; i < w.size(); ++i) sum[i] += before[i], size[i] += std::fabs(before[i]);
    CHECK(misses(arena.get(run.added.d_weight, w.size()), sum, of_weights(sum, size)) == 0);
    CHECK(arena.guards_hold());
  }
}

TEMPLATE_TEST_CASE("the bits of convolutions do not depend on the number of threads", "", float, bf16) {
  using T = TestType;
  constexpr std::array<op::Convolution, 2> shapes{{
      {.samples = 3,
       .height = 19,
       .width = 23,
       .channels = 7,
       .out_channels = 41,
       .window_height = 3,
       .window_width = 3,
       .stride = 1,
       .padding = 1},
      {.samples = 3,
       .height = 19,
       .width = 23,
       .channels = 67,
       .out_channels = 67,
       .window_height = 3,
       .window_width = 3,
       .stride = 2,
       .padding = 1,
       .groups = 67},
  }};
  for (const op::Convolution& o : shapes) {
    CHECK(cpu::ConvChunks::of<float>(o) > 1);
    CHECK(same_for_any_threads([&](Arena& arena) {
      const std::size_t inputs = o.pixels() * o.channels, outputs = o.positions() * o.out_channels;
      Operations<T>(arena, o, values<T>(inputs, 2, 1), values<T>(o.weights(), 1, 2), values<T>(o.out_channels, 1, 3),
                    values<T>(outputs, 1, 4), values<T>(o.weights(), 3, 5))
          .compute(arena);
    }));
  }
}

TEST_CASE("a convolution without samples writes gradients of zero, and nothing else") {
  for (op::Convolution o : convolutions) {
    o.samples = 0;
    Arena arena;
    const Operations<float> run(arena, o, {}, values<float>(o.weights()), values<float>(o.out_channels), {},
                                Values(o.weights(), 2.0));
    run.compute(arena);
    CHECK(arena.get(run.weight.d_weight, o.weights()) == Values(o.weights(), 0.0));
    CHECK(arena.get(run.added.d_weight, o.weights()) == Values(o.weights(), 2.0));
    CHECK(arena.guards_hold());
  }
}
