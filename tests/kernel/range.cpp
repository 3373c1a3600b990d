// tests/kernel/range.cpp — statistics at both edges of a format's range, on the CPU and by kernels in every way: what is
// multiplied by a power of two changes no digit, however large or small it becomes.
#include "run.hpp"

#include <regimen/engine/cpu/batch_norm.hpp>
#include <regimen/engine/cpu/elementwise.hpp>
#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/group_norm.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/norm.hpp>
#include <regimen/engine/cpu/update.hpp>
#include <regimen/kernel/batch_norm.hpp>
#include <regimen/kernel/cross_entropy.hpp>
#include <regimen/kernel/group_norm.hpp>
#include <regimen/kernel/normalize.hpp>
#include <regimen/kernel/positions.hpp>
#include <regimen/kernel/softmax.hpp>
#include <regimen/kernel/update.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t room = std::size_t{1} << 20;

/// Multiples of 1/8 below 4: products with the powers of two below are exact in each format.
Values eighths(std::size_t count, std::uint64_t seed, double scale = 1) {
  Values result = values<double>(count, 31.9, seed);
  for (double& value : result) value = std::trunc(value) / 8 * scale;
  return result;
}

/// The powers of two for numbers of a format: the largest are half of its range away from the end (in 16 bits with a
/// short exponent) or their squares are (squares of statistics are summed in fp32); small ones stay normal, and their
/// squares do.
template <class T>
std::vector<double> scales() {
  if (std::is_same_v<T, fp16>) return {0x1p13, 0x1p-11};
  if (std::is_same_v<T, double>) return {0x1p500, 0x1p-500};
  return {0x1p56, 0x1p-56};
}

/// What get(arena, operation) gives of make(arena), by the CPU engine and then by kernels in every way.
template <class Make, class Get>
std::vector<Values> results(const Make& make, const Get& get) {
  std::vector<Values> all;
  {
    Arena arena(room);
    const auto operation = make(arena);
    cpu::execute(operation, arena.memory_for(operation));
    all.push_back(get(arena, operation));
  }
  for (const Way& way : ways) {
    Arena arena(room);
    const auto operation = make(arena);
    run(operation, arena, way);
    all.push_back(get(arena, operation));
  }
  return all;
}

/// make(scale)(arena) and get(scale)(arena, operation), which takes the scale out again: the same numbers for each scale.
template <class T, class Make, class Get>
void no_digit_changes(const Make& make, const Get& get) {
  const std::vector<Values> expected = results(make(1.0), get(1.0));
  for (const double value : expected[0]) REQUIRE(std::isfinite(value));
  for (const double scale : scales<T>()) {
    CAPTURE(name_of<T>, scale);
    const std::vector<Values> found = results(make(scale), get(scale));
    for (std::size_t way = 0; way < found.size(); ++way) {
      INFO((way == 0 ? "the CPU engine" : ways[way - 1].name));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < found[way].size(); ++i)
        if (!(found[way][i] == expected[way][i]) && wrong++ == 0)
          UNSCOPED_INFO("number " << i << ": " << found[way][i] << " instead of " << expected[way][i]);
      CHECK(wrong == 0);
    }
  }
}

void append(Values& to, const Values& from, double scale = 1) {
  for (const double value : from) to.push_back(value * scale);
}

constexpr std::size_t rows = 6, columns = 37;
constexpr double epsilon = 0x1p-7;

template <class T, bool Centered>
void a_norm() {
  using S = statistic_t<T>;
  const auto forward = [](double scale) {
    return [=](Arena& arena) {
      op::Normalize<Centered, T> o{};
      o.x = arena.put<T>(eighths(rows * columns, 1, scale)), o.y = arena.room<T>(rows * columns);
      o.gain = arena.put<T>(eighths(columns, 2)), o.rstd = arena.room<S>(rows);
      if (Centered) o.bias = arena.put<T>(eighths(columns, 3)), o.mean = arena.room<S>(rows);
      o.rows = rows, o.columns = columns, o.epsilon = epsilon * scale * scale;
      return o;
    };
  };
  no_digit_changes<T>(forward, [](double scale) {
    return [=](const Arena& arena, const auto& o) {
      Values all = arena.get(o.y, rows * columns);
      append(all, arena.get(o.rstd, rows), scale);
      if (Centered) append(all, arena.get(o.mean, rows), 1 / scale);
      return all;
    };
  });
  // Gradients of a loss as large as the numbers: d_x is of size 1, those of gain and bias of the scale.
  const auto backward = [](double scale) {
    return [=](Arena& arena) {
      op::NormalizeBackward<Centered, T, S> o{};
      o.x = arena.put<T>(eighths(rows * columns, 1, scale)), o.d_y = arena.put<T>(eighths(rows * columns, 4, scale));
      o.gain = arena.put<T>(eighths(columns, 2)), o.d_x = arena.room<T>(rows * columns);
      if (Centered) o.mean = arena.put<S>(eighths(rows, 5, scale)), o.d_bias = arena.room<S>(columns);
      o.rstd = arena.put<S>(eighths(rows, 6, 1 / scale)), o.d_gain = arena.room<S>(columns);
      o.rows = rows, o.columns = columns;
      return o;
    };
  };
  no_digit_changes<T>(backward, [](double scale) {
    return [=](const Arena& arena, const auto& o) {
      Values all = arena.get(o.d_x, rows * columns);
      append(all, arena.get(o.d_gain, columns), 1 / scale);
      if (Centered) append(all, arena.get(o.d_bias, columns), 1 / scale);
      return all;
    };
  });
}

}  // namespace

TEMPLATE_TEST_CASE("layer and RMS norm of numbers at the edges of their format", "", float, double, bf16, fp16) {
  a_norm<TestType, true>();
  a_norm<TestType, false>();
}

TEMPLATE_TEST_CASE("norms of groups and of batches at the edges of their format", "", float, double, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  constexpr op::ColumnGroups shape{2, 33, 14, 7};
  const std::size_t count = shape.count(), groups = shape.samples * shape.groups;
  no_digit_changes<T>(
      [&](double scale) {
        return [=](Arena& arena) {
          return op::GroupNorm<T>{.x = arena.put<T>(eighths(count, 1, scale)),
                                  .gain = arena.put<T>(eighths(shape.columns, 2)),
                                  .bias = arena.put<T>(eighths(shape.columns, 3)),
                                  .y = arena.room<T>(count),
                                  .mean = arena.room<S>(groups),
                                  .rstd = arena.room<S>(groups),
                                  .shape = shape,
                                  .epsilon = epsilon * scale * scale};
        };
      },
      [&](double scale) {
        return [=](const Arena& arena, const op::GroupNorm<T>& o) {
          Values all = arena.get(o.y, count);
          append(all, arena.get(o.mean, groups), 1 / scale), append(all, arena.get(o.rstd, groups), scale);
          return all;
        };
      });
  // The running statistics move with the batch's, from statistics of its size.
  no_digit_changes<T>(
      [&](double scale) {
        return [=](Arena& arena) {
          Values variance = eighths(columns, 5, scale * scale);
          for (double& value : variance) value = std::abs(value);
          return op::BatchNorm<T, S>{.x = arena.put<T>(eighths(rows * columns, 1, scale)),
                                     .gain = arena.put<T>(eighths(columns, 2)),
                                     .bias = arena.put<T>(eighths(columns, 3)),
                                     .y = arena.room<T>(rows * columns),
                                     .mean = arena.room<S>(columns),
                                     .rstd = arena.room<S>(columns),
                                     .running_mean = arena.put<S>(eighths(columns, 4, scale)),
                                     .running_variance = arena.put<S>(variance),
                                     .rows = rows,
                                     .columns = columns,
                                     .epsilon = epsilon * scale * scale,
                                     .momentum = 0.25,
                                     .moves = true,
                                     .uses_running = false};
        };
      },
      [&](double scale) {
        return [=](const Arena& arena, const op::BatchNorm<T, S>& o) {
          Values all = arena.get(o.y, rows * columns);
          append(all, arena.get(o.mean, columns), 1 / scale), append(all, arena.get(o.rstd, columns), scale);
          append(all, arena.get(o.running_mean, columns), 1 / scale);
          append(all, arena.get(o.running_variance, columns), 1 / (scale * scale));
          return all;
        };
      });
}

TEMPLATE_TEST_CASE("means of rows at the edges of their format", "", float, double, bf16, fp16) {
  using T = TestType;
  no_digit_changes<T>(
      [](double scale) {
        return [=](Arena& arena) {
          op::MeanRows<T> o{};
          o.x = arena.put<T>(eighths(rows * 50 * 7, 1, scale)), o.y = arena.room<T>(rows * 7);
          o.samples = rows, o.rows = 50, o.columns = 7;
          return o;
        };
      },
      [](double scale) {
        return [=](const Arena& arena, const auto& o) {
          Values all;
          // A small mean has fewer digits in fp16, which has no smaller exponents: only large ones are compared.
          if (!std::is_same_v<T, fp16> || scale >= 1) append(all, arena.get(o.y, rows * 7), 1 / scale);
          return all;
        };
      });
}

TEMPLATE_TEST_CASE("the norm of a gradient far beyond the squares of its format", "", float, double, bf16) {
  using G = TestType;
  const std::size_t count = 9001;
  const double large = sizeof(G) == 8 ? 0x1p500 : 0x1p120;  // in fp64 squares have no wider format
  const auto sums = [&](double scale) {
    return results(
        [&](Arena& arena) {
          const auto gradient = arena.put<G>(eighths(count, 1, scale));
          return op::SumOfSquares<G>{gradient, arena.put<double>({0}), count};
        },
        [&](const Arena& arena, const auto& o) { return Values{arena.get(o.sum, 1)[0] / scale / scale}; });
  };
  const std::vector<Values> expected = sums(1), found = sums(large), small = sums(1 / large);
  REQUIRE(expected[0][0] > 1000);
  for (std::size_t way = 0; way < expected.size(); ++way) {
    CHECK(found[way] == expected[way]);
    CHECK(small[way] == expected[way]);
  }
}

/// Logits that are all larger by one number have the same probabilities: to the bit, where the sums are exact.
TEMPLATE_TEST_CASE("logits far from zero lose no digit of the loss and its gradient", "", float, double) {
  using S = TestType;
  const auto found = [](double shift, double scale = 1) {
    return results(
        [=](Arena& arena) {
          op::CrossEntropy<true, S> o{};
          Values logits = eighths(rows * columns, 1, scale), targets(rows);
          for (double& logit : logits) logit += shift;
          for (std::size_t i = 0; i < rows; ++i) targets[i] = double(i * 7 % columns);
          o.logits = arena.put<S>(logits), o.target = arena.put<std::int32_t>(targets);
          Scalars scalars;
          scalars.loss_scale = 1;
          o.scalars = arena.scalars(scalars), o.rows = rows, o.columns = columns, o.scale = 1;
          return o;
        },
        [](Arena& arena, const auto& o) {
          Values all = arena.get(o.logits, rows * columns);
          all.push_back(arena.memory()(o.scalars)->loss_sum);
          return all;
        });
  };
  const double far = sizeof(S) == 8 ? 0x1p48 : 0x1p19;  // plus an eighth it is a number of the format
  const std::vector<Values> expected = found(0);
  REQUIRE(expected[0].back() > 1);
  for (const double shift : {far, -far}) {
    CAPTURE(shift);
    CHECK(found(shift) == expected);
  }
  // Logits that are one number are alike, up to the largest that there is.
  const std::vector<Values> alike = found(0, 0);
  const double edge = double((std::numeric_limits<S>::max)());
  CHECK(std::abs(alike[0].back() / double(rows) - std::log(double(columns))) < 1e-6);
  CHECK(found(edge, 0) == alike);
  CHECK(found(-edge, 0) == alike);
}

TEMPLATE_TEST_CASE("a softmax of numbers at the edges of their format", "", float, double, bf16, fp16) {
  using T = TestType;
  const double largest = number((std::numeric_limits<float>::max)());
  const double edge = std::is_same_v<T, fp16>     ? 65504
                      : std::is_same_v<T, double> ? (std::numeric_limits<double>::max)()
                      : std::is_same_v<T, bf16>   ? 0x1.FEp127
                                                  : largest;
  Values x(3 * columns, -edge);
  x[5] = x[6] = edge;                                                // two take all
  for (std::size_t i = 2 * columns; i < x.size(); ++i) x[i] = edge;  // and rows of one number share alike
  const auto all =
      results([&](Arena& arena) { return op::Softmax<T>{arena.put<T>(x), arena.room<T>(x.size()), 3, columns}; },
              [&](const Arena& arena, const auto& o) { return arena.get(o.y, x.size()); });
  for (const Values& y : all) {
    for (std::size_t i = 0; i < columns; ++i) CHECK(y[i] == (i == 5 || i == 6 ? 0.5 : 0));
    for (std::size_t i = columns; i < x.size(); ++i)
      CHECK(std::abs(y[i] * double(columns) - 1) <= double(columns + 4) * 0x1p-24 + double(epsilon_of<T>));
  }
}
// SPDX-License-Identifier: Apache-2.0
