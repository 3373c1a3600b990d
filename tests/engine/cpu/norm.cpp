// tests/engine/cpu/norm.cpp — layer and RMS normalisation against fp64, and their gradients against finite differences.
#include "arena.hpp"

#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/norm.hpp>

#include <algorithm>
#include <tuple>

using namespace regimen;
using namespace test;

namespace {

struct Case {
  std::size_t rows, columns;
  double offset, size;  // x is uniform in offset ± size
};

template <class T>
Values inputs(const Case& c) {
  Values x = values<T>(c.rows * c.columns, c.size, 1);
  for (double& value : x) value = number(rounded<T>(value + c.offset));
  return x;
}

struct Reference {
  Values normal, mean, rstd;
};
Reference normalised(const Values& x, std::size_t rows, std::size_t columns, bool centered, double epsilon) {
  Reference r{Values(x.size()), Values(rows), Values(rows)};
  for (std::size_t row = 0; row < rows; ++row) {
    double mean = 0, variance = 0;
    for (std::size_t k = 0; k < columns && centered; ++k) mean += x[row * columns + k] / double(columns);
    for (std::size_t k = 0; k < columns; ++k)
      variance += (x[row * columns + k] - mean) * (x[row * columns + k] - mean) / double(columns);
    r.mean[row] = mean, r.rstd[row] = 1 / std::sqrt(variance + epsilon);
    for (std::size_t k = 0; k < columns; ++k) r.normal[row * columns + k] = (x[row * columns + k] - mean) * r.rstd[row];
  }
  return r;
}

/// How many additions a term of a row's sum passes through: four interleaved registers, then their lanes.
template <class S>
double depth_of(std::size_t columns) {
  return double(columns / (4 * cpu::lanes<S>)) + 12;
}

// With u = epsilon of S and d additions: the mean is off by d u |offset|, so normals by d u |offset| rstd; the variance
// is off by relative (d + 4) u, and by the square of the mean's error, so rstd by half of that; four roundings more.
template <class S>
double normal_error(const Case& c, const Reference& r, std::size_t i) {
  const double u = epsilon_of<S>, d = depth_of<S>(c.columns), rstd = r.rstd[i / c.columns],
               shift = d * u * (std::fabs(c.offset) + c.size) * rstd;
  return shift + std::fabs(r.normal[i]) * (u * (d + 8) + shift * shift);
}

template <bool Centered, class T>
void forward_is_the_definition(Case c, bool in_place) {
  using S = statistic_t<T>;
  Arena arena;
  const Values x = inputs<T>(c), gain = values<T>(c.columns, 2, 2), bias = values<T>(c.columns, 2, 3);
  op::Normalize<Centered, T> o{};
  o.x = arena.put<T>(x), o.gain = arena.put<T>(gain), o.y = in_place ? o.x : arena.room<T>(x.size()),
  o.rstd = arena.room<S>(c.rows);
  if (Centered) o.bias = arena.put<T>(bias), o.mean = arena.room<S>(c.rows);
  o.rows = c.rows, o.columns = c.columns, o.epsilon = 1e-5;
  cpu::execute(o, arena.memory());
  const Reference r = normalised(x, c.rows, c.columns, Centered, 1e-5);
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = r.normal[i] * gain[i % c.columns] + (Centered ? bias[i % c.columns] : 0);
  CHECK(misses(arena.get(o.y, x.size()), y, [&](std::size_t i) {
          return normal_error<S>(c, r, i) * std::fabs(gain[i % c.columns]) + epsilon_of<S> * (std::fabs(y[i]) + 4) +
                 rounding_of<T>(y[i]);
        }) == 0);
  const double d = depth_of<S>(c.columns) * epsilon_of<S>, scale = std::fabs(c.offset) + c.size;
  if (Centered) CHECK(misses(arena.get(o.mean, c.rows), r.mean, [&](std::size_t) { return d * scale; }) == 0);
  CHECK(misses(arena.get(o.rstd, c.rows), r.rstd, [&](std::size_t row) {
          const double shift = d * scale * r.rstd[row];
          return r.rstd[row] * (d + shift * shift);
        }) == 0);
  CHECK(arena.guards_hold());
}

template <bool Centered, class T, class G>
void backward_is_the_definition(Case c, bool in_place, bool add, bool frozen) {
  using S = statistic_t<T>;
  Arena arena;
  const Values x = inputs<T>(c), gain = values<T>(c.columns, 2, 2), d_y = values<T>(x.size(), 1, 5),
               old = values<G>(c.columns, 1, 6);
  const Reference r = normalised(x, c.rows, c.columns, Centered, 1e-5);
  op::NormalizeBackward<Centered, T, G> o{};
  o.x = arena.put<T>(x), o.gain = arena.put<T>(gain), o.d_y = arena.put<T>(d_y),
  o.d_x = in_place ? o.d_y : arena.room<T>(x.size());
  o.rstd = arena.put<S>(r.rstd);
  if (Centered) o.mean = arena.put<S>(r.mean);
  if (!frozen) {
    o.d_gain = add ? arena.put<G>(old) : arena.room<G>(c.columns);
    if (Centered) o.d_bias = add ? arena.put<G>(old) : arena.room<G>(c.columns);
  }
  o.rows = c.rows, o.columns = c.columns, o.add = add;
  cpu::execute(o, arena.memory_for(o));

  Values d_x(x.size()), d_gain(c.columns), d_bias(c.columns), gain_size(c.columns), bias_size(c.columns);
  for (std::size_t row = 0; row < c.rows; ++row) {
    double mean_e = 0, mean_en = 0;
    for (std::size_t k = 0; k < c.columns; ++k) {
      const std::size_t i = row * c.columns + k;
      const double e = d_y[i] * gain[k], n = double(c.columns);
      mean_e += Centered ? e / n : 0, mean_en += e * r.normal[i] / n;
      d_gain[k] += d_y[i] * r.normal[i], d_bias[k] += d_y[i];
      gain_size[k] += std::fabs(d_y[i]) * (std::fabs(r.normal[i]) + 1), bias_size[k] += std::fabs(d_y[i]);
    }
    for (std::size_t k = 0; k < c.columns; ++k) {
      const std::size_t i = row * c.columns + k;
      d_x[i] = r.rstd[row] * (d_y[i] * gain[k] - mean_e - r.normal[i] * mean_en);
    }
  }
  // mean and rstd come rounded to S: normals are off by u (|offset| rstd + 3 |normal|), everything else by d u of terms
  // that are at most max|d_y gain| (1 + normal²), with |d_y gain| < 2; uniform rows have |normal| < 2.
  const double u = epsilon_of<S>, d = depth_of<S>(c.columns);
  const auto normal_off = [&](std::size_t row) { return u * (std::fabs(c.offset) * r.rstd[row] + 6); };
  CHECK(misses(arena.get(o.d_x, x.size()), d_x, [&](std::size_t i) {
          const double rstd = r.rstd[i / c.columns];
          return rstd * (2 * d * u * (2 + 4) + 8 * normal_off(i / c.columns)) + rounding_of<T>(d_x[i]);
        }) == 0);
  if (frozen) return;
  const double largest_rstd = *std::max_element(r.rstd.begin(), r.rstd.end());
  const double chain = double(c.rows / cpu::norm_chunks + 1 + cpu::norm_chunks + 2) * u;
  for (std::size_t k = 0; k < c.columns && add; ++k) d_gain[k] += old[k], d_bias[k] += old[k];
  CHECK(misses(arena.get(o.d_gain, c.columns), d_gain, [&](std::size_t k) {
          return chain * (gain_size[k] + 1) + bias_size[k] * u * (std::fabs(c.offset) * largest_rstd + 6) +
                 rounding_of<G>(d_gain[k]);
        }) == 0);
  if (Centered) {
    CHECK(misses(arena.get(o.d_bias, c.columns), d_bias,
                 [&](std::size_t k) { return chain * (bias_size[k] + 1) + rounding_of<G>(d_bias[k]); }) == 0);
  }
  CHECK(arena.guards_hold());
}

using Types = std::tuple<std::pair<float, float>, std::pair<double, double>, std::pair<bf16, float>,
                         std::pair<bf16, bf16>, std::pair<fp16, fp16>>;
const Case cases[] = {{1, 2, 0, 1}, {3, 17, 1, 2}, {40, 64, -2, 1}, {33, 100, 0, 3}, {5, 777, 10, 1}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("layer norm and RMS norm are their definitions", "", Types) {
  using T = typename TestType::first_type;
  for (const Case& c : cases) {
    for (const bool in_place : {false, true})
      forward_is_the_definition<true, T>(c, in_place), forward_is_the_definition<false, T>(c, in_place);
  }
}

TEST_CASE("a mean much larger than the spread does not destroy the variance") {
  // E[x²] − E[x]² would be off by 4096² · 2^-23 = 2, six times the variance of 1/3.
  forward_is_the_definition<true, float>({8, 512, 4096, 1}, false);
  backward_is_the_definition<true, float, float>({8, 512, 4096, 1}, false, false, false);
}

TEMPLATE_LIST_TEST_CASE("gradients of the norms are their definitions, assigned or added, in place, frozen", "",
                        Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  for (const Case& c : cases) {
    if (c.columns == 2) continue;  // d_x of two columns is a difference of nearly equal numbers
    for (const bool add : {false, true}) {
      backward_is_the_definition<true, T, G>(c, add, add, false),
          backward_is_the_definition<true, T, G>(c, !add, add, false);
      backward_is_the_definition<false, T, G>(c, add, add, false),
          backward_is_the_definition<false, T, G>(c, !add, add, add);
    }
    backward_is_the_definition<true, T, G>(c, true, false, true);
  }
}

TEMPLATE_TEST_CASE("the gradients are what finite differences say, in fp64", "", std::true_type, std::false_type) {
  constexpr bool centered = TestType::value;
  constexpr std::size_t rows = 3, columns = 7, count = rows * columns;
  constexpr double h = 1e-6;  // truncation about h² · 10, cancellation about 2^-52 · 10 / h: both below 1e-8
  const Values x = values<double>(count, 2, 1), gain = values<double>(columns, 1, 2),
               bias = values<double>(columns, 1, 3), weight = values<double>(count, 1, 4);
  const auto loss = [&](const Values& x_, const Values& gain_, const Values& bias_) {
    Arena arena;
    op::Normalize<centered, double> o{};
    o.x = arena.put<double>(x_), o.gain = arena.put<double>(gain_), o.y = arena.room<double>(count),
    o.rstd = arena.room<double>(rows);
    o.bias = arena.put<double>(bias_), o.mean = arena.room<double>(rows), o.rows = rows, o.columns = columns;
    cpu::execute(o, arena.memory());
    double sum = 0;
    const Values y = arena.get(o.y, count);
    for (std::size_t i = 0; i < count; ++i) sum += y[i] * weight[i];
    return sum;
  };
  const auto difference = [&](int which, std::size_t i) {
    Values moved[3] = {x, gain, bias};
    moved[which][i] += h;
    const double up = loss(moved[0], moved[1], moved[2]);
    moved[which][i] -= 2 * h;
    return (up - loss(moved[0], moved[1], moved[2])) / (2 * h);
  };
  Arena arena;
  op::Normalize<centered, double> o{};
  o.x = arena.put<double>(x), o.gain = arena.put<double>(gain), o.y = arena.room<double>(count),
  o.rstd = arena.room<double>(rows);
  o.bias = arena.put<double>(bias), o.mean = arena.room<double>(rows), o.rows = rows, o.columns = columns;
  cpu::execute(o, arena.memory());
  op::NormalizeBackward<centered, double, double> back{};
  back.x = o.x, back.gain = o.gain, back.d_y = arena.put<double>(weight), back.d_x = arena.room<double>(count),
  back.rstd = o.rstd, back.mean = o.mean;
  back.d_gain = arena.room<double>(columns), back.d_bias = arena.room<double>(columns);
  back.rows = rows, back.columns = columns;
  cpu::execute(back, arena.memory_for(back));
  Values d_x(count), d_gain(columns), d_bias(columns);
  for (std::size_t i = 0; i < count; ++i) d_x[i] = difference(0, i);
  for (std::size_t k = 0; k < columns; ++k) d_gain[k] = difference(1, k), d_bias[k] = difference(2, k);
  const auto tolerance = [](std::size_t) { return 2e-8; };
  CHECK(misses(arena.get(back.d_x, count), d_x, tolerance) == 0);
  CHECK(misses(arena.get(back.d_gain, columns), d_gain, tolerance) == 0);
  if (centered) CHECK(misses(arena.get(back.d_bias, columns), d_bias, tolerance) == 0);
}

TEST_CASE("the number of threads changes no bit of a norm or its gradients") {
  CHECK(same_for_any_threads([](Arena& arena) {
    const std::size_t rows = 300, columns = 500;
    op::Normalize<true, bf16> o{};
    o.x = arena.put<bf16>(values<bf16>(rows * columns, 2, 1)), o.gain = arena.put<bf16>(values<bf16>(columns, 1, 2)),
    o.bias = o.gain;
    o.y = arena.room<bf16>(rows * columns), o.mean = arena.room<float>(rows), o.rstd = arena.room<float>(rows),
    o.rows = rows, o.columns = columns;
    cpu::execute(o, arena.memory());
    op::NormalizeBackward<true, bf16, float> back{};
    back.x = o.x, back.gain = o.gain, back.d_y = o.y, back.d_x = o.y, back.mean = o.mean, back.rstd = o.rstd;
    back.d_gain = arena.room<float>(columns), back.d_bias = arena.room<float>(columns);
    back.rows = rows, back.columns = columns;
    cpu::execute(back, arena.memory_for(back));
  }));
}
// SPDX-License-Identifier: Apache-2.0
