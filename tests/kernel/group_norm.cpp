// tests/kernel/group_norm.cpp — normalisation over groups of channels by its definition, on the CPU and as kernels in
// every order of threads.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/group_norm.hpp>
#include <regimen/kernel/group_norm.hpp>

using namespace regimen;
using namespace test;

namespace {

// One element a group, no sample, several groups, one, many chunks, two, rows that are one.
constexpr op::ColumnGroups cases[] = {{1, 1, 3, 3},   {0, 3, 4, 2},     {2, 7, 6, 3}, {3, 100, 33, 1},
                                      {2, 33, 70, 7}, {2, 1100, 20, 5}, {5, 1, 64, 4}};
constexpr std::size_t bytes = std::size_t{1} << 21;

/// Roundings of a sum over a group: the rows of a chunk, what is added of chunks and columns, and what is done with it.
double roundings(const op::ColumnGroups& shape) {
  return double(shape.rows) / double(shape.chunks()) + double(shape.chunks() * shape.width()) + 12;
}
std::size_t group_of(const op::ColumnGroups& shape, std::size_t element) {
  return element / (shape.rows * shape.columns) * shape.groups + element % shape.columns / shape.width();
}

}  // namespace

/// With the mean of a group, and of a column of a chunk, wrong by off <= k · 3, elements are up to 3
///   squares   a chunk's around a mean that is wrong miss 2 · (its distance from the group's mean) · off, at most
///             2 · √variance · off of the variance; all of them are wrong by k of themselves, and off²
///   rstd      half of that over variance + epsilon, and some u
TEMPLATE_TEST_CASE("groups of channels are normalised", "", float, double, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  const double u = sizeof(S) == 8 ? 0x1p-53 : 0x1p-24, epsilon = 1e-3;
  for (const op::ColumnGroups& c : cases) {
    const bool in_place = c.groups == 7;
    CAPTURE(c.samples, c.rows, c.columns, c.groups, in_place);
    const std::size_t count = c.count(), columns = c.columns, groups = c.samples * c.groups;
    const Values x = values<T>(count, 3, 1), gain = values<T>(columns, 2, 2), bias = values<T>(columns, 2, 3);
    by_definition(
        bytes,
        [&](Arena& arena) {
          op::GroupNorm<T> o{.x = arena.put<T>(x),
                             .gain = arena.put<T>(gain),
                             .bias = arena.put<T>(bias),
                             .y = {},
                             .mean = arena.room<S>(groups),
                             .rstd = arena.room<S>(groups),
                             .shape = c,
                             .epsilon = epsilon};
          o.y = in_place ? o.x : arena.room<T>(count);
          return o;
        },
        [&](const Arena& arena, const op::GroupNorm<T>& o) {
          const double k = roundings(c) * u, off = 3 * k, n = double(c.members());
          const Values y = arena.get(o.y, count), means = arena.get(o.mean, groups), rstds = arena.get(o.rstd, groups);
          Values mean(groups), rstd(groups), share(groups);
          for (std::size_t i = 0; i < count; ++i) mean[group_of(c, i)] += x[i] / n;
          for (std::size_t i = 0; i < count; ++i) {
            const double d = x[i] - mean[group_of(c, i)];
            rstd[group_of(c, i)] += d * d / n;
          }
          std::size_t wrong = 0;
          for (std::size_t g = 0; g < groups; ++g) {
            rstd[g] = 1 / std::sqrt(rstd[g] + epsilon);
            share[g] = k + rstd[g] * off + rstd[g] * off * rstd[g] * off + 8 * u;
            wrong += !(std::abs(means[g] - mean[g]) <= off);
            wrong += !(std::abs(rstds[g] - rstd[g]) <= share[g] * rstd[g]);
          }
          for (std::size_t i = 0; i < count; ++i) {
            const std::size_t g = group_of(c, i), column = i % columns;
            const double normal = (x[i] - mean[g]) * rstd[g], expected = normal * gain[column] + bias[column];
            const double allowed = std::abs(gain[column]) * (rstd[g] * off + std::abs(normal) * share[g]) * 1.01 +
                                   8 * u * (std::abs(expected) + std::abs(bias[column])) + rounding_of<T>(expected);
            if (!(std::abs(y[i] - expected) <= allowed) && wrong++ == 0)
              UNSCOPED_INFO("element " << i << ": " << y[i] << " instead of " << expected);
          }
          CHECK(wrong == 0);
        });
  }
}

TEMPLATE_TEST_CASE("the gradients of normalised groups", "", float, double, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  const double u = sizeof(S) == 8 ? 0x1p-53 : 0x1p-24;
  for (const op::ColumnGroups& c : cases) {
    const bool add = c.groups == 3, frozen = c.groups == 4, first = c.groups == 7;  // one of each is enough
    CAPTURE(c.samples, c.rows, c.columns, c.groups, add, frozen, first);
    const std::size_t count = c.count(), columns = c.columns, groups = c.samples * c.groups;
    const Values x = values<T>(count, 3, 1), gain = values<T>(columns, 2, 2), d = values<T>(count, 1, 3),
                 mean = values<S>(groups, 0.5, 4), old = values<S>(columns, 1, 6);
    Values rstd = values<S>(groups, 0.25, 5);
    for (double& value : rstd) value = number(rounded<S>(0.6 + value));
    by_definition(
        bytes,
        [&](Arena& arena) {
          op::GroupNormBackward<T, S> o{.x = arena.put<T>(x),
                                        .gain = arena.put<T>(gain),
                                        .d_y = arena.put<T>(d),
                                        .mean = arena.put<S>(mean),
                                        .rstd = arena.put<S>(rstd),
                                        .shape = c,
                                        .add = add};
          if (!first) o.d_x = c.rows % 2 == 0 ? o.d_y : arena.room<T>(count);
          if (!frozen) o.d_gain = arena.put<S>(old), o.d_bias = arena.put<S>(old);
          return o;
        },
        [&](const Arena& arena, const op::GroupNormBackward<T, S>& o) {
          const double k = roundings(c) * u, n = double(c.members()),
                       of_column = (double(c.rows) / double(c.chunks()) + double(c.samples * c.chunks()) + 12) * u;
          const auto normal = [&](std::size_t i) { return (x[i] - mean[group_of(c, i)]) * rstd[group_of(c, i)]; };
          const auto largest = [&](std::size_t i) {  // of what normal is computed from
            return (3 + std::abs(mean[group_of(c, i)])) * rstd[group_of(c, i)];
          };
          Values sum_g(groups), sum_gn(groups), size_g(groups), size_gn(groups);
          Values sum_d(columns), sum_dn(columns), size_d(columns), size_dn(columns);
          for (std::size_t i = 0; i < count; ++i) {
            const std::size_t group = group_of(c, i), column = i % columns;
            const double g = d[i] * gain[column];
            sum_g[group] += g, size_g[group] += std::abs(g);
            sum_gn[group] += g * normal(i), size_gn[group] += std::abs(g) * largest(i);
            sum_d[column] += d[i], size_d[column] += std::abs(d[i]);
            sum_dn[column] += d[i] * normal(i), size_dn[column] += std::abs(d[i]) * largest(i);
          }
          std::size_t wrong = 0;
          if (!frozen) {
            const Values d_gain = arena.get(o.d_gain, columns), d_bias = arena.get(o.d_bias, columns);
            for (std::size_t i = 0; i < columns; ++i) {
              const double before = add ? old[i] : 0;
              wrong += !(std::abs(d_bias[i] - before - sum_d[i]) <= of_column * (size_d[i] + std::abs(before)));
              wrong += !(std::abs(d_gain[i] - before - sum_dn[i]) <= of_column * (size_dn[i] + std::abs(before)));
            }
          }
          if (!first) {
            const Values d_x = arena.get(o.d_x, count);
            for (std::size_t i = 0; i < count; ++i) {
              const std::size_t g = group_of(c, i);
              const double own = d[i] * gain[i % columns],
                           expected = rstd[g] * (own - sum_g[g] / n - normal(i) * sum_gn[g] / n);
              // each term is rounded some times, and the difference of three
              const double allowed = rstd[g] * (8 * u * std::abs(own) + (k + 8 * u) * size_g[g] / n +
                                                (largest(i) * (k + 8 * u)) * size_gn[g] / n) +
                                     8 * u * std::abs(expected) + rounding_of<T>(expected);
              if (!(std::abs(d_x[i] - expected) <= allowed) && wrong++ == 0)
                UNSCOPED_INFO("element " << i << ": " << d_x[i] << " instead of " << expected);
            }
          }
          CHECK(wrong == 0);
        });
  }
}
// SPDX-License-Identifier: Apache-2.0
