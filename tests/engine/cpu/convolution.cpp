// tests/engine/cpu/convolution.cpp — convolutions beside their definition.
#include "convolution_definition.hpp"

#include <regimen/engine/cpu/convolution.hpp>
#include <regimen/engine/cpu/execute.hpp>

#include <algorithm>
#include <utility>
#include <vector>

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
    cpu::execute(conv, arena.memory_for(conv));
    cpu::execute(biased, arena.memory_for(biased));
    cpu::execute(input, arena.memory_for(input));
    cpu::execute(weight, arena.memory_for(weight));
    cpu::execute(added, arena.memory_for(added));
  }
};

constexpr op::Convolution three_by_three(std::size_t samples, std::size_t height, std::size_t width,
                                         std::size_t channels, std::size_t outputs, std::size_t padding) {
  return {.samples = samples,
          .height = height,
          .width = width,
          .channels = channels,
          .out_channels = outputs,
          .window_height = 3,
          .window_width = 3,
          .padding = padding};
}
/// Tiles that reach over an edge in neither, one and both directions, channels that fill no register, block or slice.
constexpr std::array<op::Convolution, 4> tiled{three_by_three(2, 7, 9, 35, 66, 1), three_by_three(1, 9, 8, 70, 40, 0),
                                               three_by_three(1, 5, 6, 32, 131, 2), three_by_three(3, 8, 8, 33, 32, 1)};

/// Σ |values| of each of `groups`, where group_of(i) has values[i].
Values sizes(const Values& values, std::size_t groups, const auto& group_of) {
  Values sum(groups);
  for (std::size_t i = 0; i < values.size(); ++i) sum[group_of(i)] += std::fabs(values[i]);
  return sum;
}
double largest(const Values& values) {
  double found = 0;
  for (const double value : values) found = std::max(found, std::fabs(value));
  return found;
}

}  // namespace

// The entries of Bᵀ d B are sums of four numbers of x, those of G g Gᵀ at most Σ |g|, and an output adds nine of their
// products: the sizes of all terms of an output are together at most 36 · max |x| · Σ |weights of its channel|. They are
// rounded once for each channel and at most 13 times more: 2 in Bᵀ d B, 6 in G g Gᵀ, 4 in Aᵀ m A, once for the bias. A
// gradient of a weight has 16 · max |x| · Σ |d_y of its channel| (A d_y Aᵀ: the four pixels of a tile; Gᵀ m G: 2 · 2). 4
// is more than a bias and what a gradient is added to.
TEMPLATE_TEST_CASE("convolutions by tiles are what their definition gives, to the error of their sums", "", float,
                   double, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const op::Convolution& o : tiled) {
    CAPTURE(o.height, o.width, o.channels, o.out_channels, o.padding);
    REQUIRE((cpu::WinogradTiles::are_faster(o) && cpu::WinogradTiles::are_faster_back(o)));
    const std::size_t inputs = o.pixels() * o.channels, outputs = o.positions() * o.out_channels, k = o.depth();
    const Values x = values<T>(inputs, 2, 1), w = values<T>(o.weights(), 1, 2), b = values<T>(o.out_channels, 1, 3),
                 d_y = values<T>(outputs, 1, 4), before = values<S>(o.weights(), 3, 5);
    const OfConvolution wanted = defined(o, x, w, d_y);
    Arena arena(std::size_t{1} << 23);
    const Operations<T> run(arena, o, x, w, b, d_y, before);
    run.compute(arena);
    const auto output = [&](std::size_t i) { return i % o.out_channels; };
    const auto input = [&](std::size_t i) { return i % o.channels; };
    const Values of_output = sizes(w, o.out_channels, [&](std::size_t i) { return i / k; }),
                 of_input = sizes(w, o.channels, input), of_gradient = sizes(d_y, o.out_channels, output);
    const auto within = [&](const Values& sum, std::size_t terms, double times, const Values& size,
                            const auto& group_of) {
      return [&, terms, times](std::size_t i) {
        return double(terms + 13) * epsilon_of<S> / 2 * (times * size[group_of(i)] + 4) * 1.01 +
               rounding_of<T>(sum[i]) * 1.01;
      };
    };
    CHECK(misses(arena.get(run.conv.y, outputs), wanted.y,
                 within(wanted.y, o.channels, 36 * largest(x), of_output, output)) == 0);
    Values sum = wanted.y;
    for (std::size_t i = 0; i < outputs; ++i) sum[i] += b[output(i)];
    CHECK(misses(arena.get(run.biased.y, outputs), sum, within(sum, o.channels, 36 * largest(x), of_output, output)) ==
          0);
    CHECK(misses(arena.get(run.input.d_x, inputs), wanted.d_x,
                 within(wanted.d_x, o.out_channels, 36 * largest(d_y), of_input, input)) == 0);
    const auto of_weights = [&](std::size_t i) {
      return double(o.positions() + 13) * epsilon_of<S> / 2 * (16 * largest(x) * of_gradient[i / k] + 4) * 1.01;
    };
    CHECK(misses(arena.get(run.weight.d_weight, w.size()), wanted.d_weight, of_weights) == 0);
    sum = wanted.d_weight;
    for (std::size_t i = 0; i < w.size(); ++i) sum[i] += before[i];
    CHECK(misses(arena.get(run.added.d_weight, w.size()), sum, of_weights) == 0);
    CHECK(arena.guards_hold());
  }
}

TEMPLATE_TEST_CASE("a sample's convolution has the same bits alone as in a batch", "", float, double) {
  using T = TestType;
  for (op::Convolution o : {three_by_three(5, 7, 9, 35, 34, 1), three_by_three(5, 7, 9, 5, 34, 1)}) {
    const Values w = values<T>(o.weights()), x = values<T>(o.pixels() * o.channels),
                 d_y = values<T>(o.positions() * o.out_channels);
    const auto computed = [&](std::size_t first, std::size_t samples) {
      const auto part = [&](const Values& all) {
        const auto begin = all.begin() + std::ptrdiff_t(first * all.size() / 5);
        return Values(begin, begin + std::ptrdiff_t(samples * all.size() / 5));
      };
      op::Convolution own = o;
      own.samples = samples;
      Arena arena(std::size_t{1} << 22);
      const Operations<T> run(arena, own, part(x), w, Values(o.out_channels), part(d_y), Values(w.size()));
      run.compute(arena);
      Values all = arena.get(run.conv.y, own.positions() * own.out_channels);
      const Values back = arena.get(run.input.d_x, own.pixels() * own.channels);
      all.insert(all.end(), back.begin(), back.end());
      return std::pair(std::move(all), own.positions() * own.out_channels);
    };
    const auto [whole, outputs] = computed(0, 5);
    for (std::size_t i = 0; i < 5; ++i) {
      const auto [alone, own] = computed(i, 1);
      const std::size_t inputs = alone.size() - own;
      CHECK(std::equal(alone.begin(), alone.begin() + std::ptrdiff_t(own), whole.begin() + std::ptrdiff_t(i * own)));
      CHECK(std::equal(alone.begin() + std::ptrdiff_t(own), alone.end(),
                       whole.begin() + std::ptrdiff_t(outputs + i * inputs)));
    }
  }
}

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
  constexpr std::array<op::Convolution, 3> shapes{{
      three_by_three(4, 19, 23, 33, 41, 1),
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
  std::vector<op::Convolution> all(convolutions.begin(), convolutions.end());
  all.insert(all.end(), tiled.begin(), tiled.end());
  for (op::Convolution o : all) {
    o.samples = 0;
    Arena arena(std::size_t{1} << 22);
    const Operations<float> run(arena, o, {}, values<float>(o.weights()), values<float>(o.out_channels), {},
                                Values(o.weights(), 2.0));
    run.compute(arena);
    CHECK(arena.get(run.weight.d_weight, o.weights()) == Values(o.weights(), 0.0));
    CHECK(arena.get(run.added.d_weight, o.weights()) == Values(o.weights(), 2.0));
    CHECK(arena.guards_hold());
  }
}
