// tests/kernel/batch_norm.cpp — normalisation over a batch by its definition, on the CPU and as kernels in every order of
// threads.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/batch_norm.hpp>
#include <regimen/kernel/batch_norm.hpp>

using namespace regimen;
using namespace test;

namespace {

struct Case {
  std::size_t rows, columns;
  bool moves = true, uses_running = false;
};
// One row, none, fewer than a chunk has, several chunks, registers and their tails.
constexpr Case cases[] = {
    {1, 3}, {0, 3}, {7, 5}, {100, 33}, {1030, 70, false}, {16, 130}, {9, 17, true, true}, {1, 3, false, true}};
constexpr std::size_t bytes = std::size_t{1} << 21;

/// Roundings of a sum over the rows: those of a chunk, the chunks, and what is done with them.
double roundings(const op::RowChunks& chunks) {
  return double(chunks.rows) / double(chunks.count()) + double(chunks.count()) + 8;
}

}  // namespace

TEMPLATE_TEST_CASE("a batch is normalised, and its statistics move the running ones", "", float, double, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  const double u = sizeof(S) == 8 ? 0x1p-53 : 0x1p-24, epsilon = 1e-3, momentum = 0.25;
  for (const Case& c : cases) {
    CAPTURE(c.rows, c.columns, c.uses_running);
    const std::size_t count = c.rows * c.columns, columns = c.columns;
    const Values x = values<T>(count, 3, 1), gain = values<T>(columns, 2, 2), bias = values<T>(columns, 2, 3),
                 old_mean = values<S>(columns, 1, 4);
    Values old_variance = values<S>(columns, 1, 5);
    for (double& value : old_variance) value = number(rounded<S>(1.5 + value));
    by_definition(
        bytes,
        [&](Arena& arena) {
          op::BatchNorm<T, S> o{.x = arena.put<T>(x),
                                .gain = arena.put<T>(gain),
                                .bias = arena.put<T>(bias),
                                .y = arena.room<T>(count),
                                .running_mean = arena.put<S>(old_mean),
                                .running_variance = arena.put<S>(old_variance),
                                .rows = c.rows,
                                .columns = columns,
                                .epsilon = epsilon,
                                .momentum = momentum,
                                .moves = c.moves,
                                .uses_running = c.uses_running};
          if (!c.uses_running) o.mean = arena.room<S>(columns), o.rstd = arena.room<S>(columns);
          return o;
        },
        [&](const Arena& arena, const op::BatchNorm<T, S>& o) {
          const double k = roundings(o.chunks()) * u, n = double(c.rows);
          const Values y = arena.get(o.y, count), new_mean = arena.get(o.running_mean, columns),
                       new_variance = arena.get(o.running_variance, columns);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < columns; ++i) {
            double mean = old_mean[i], variance = old_variance[i], squares = 0;
            if (!c.uses_running) {
              mean = 0;
              for (std::size_t r = 0; r < c.rows; ++r) mean += x[r * columns + i] / n;
              for (std::size_t r = 0; r < c.rows; ++r)
                squares += (x[r * columns + i] - mean) * (x[r * columns + i] - mean);
              variance = c.rows > 0 ? squares / n : 0;
            }
            const double rstd = 1 / std::sqrt(variance + epsilon), off = 3 * k;  // of the mean
            const bool moves = c.moves && !c.uses_running && c.rows > 0;
            const double moved_mean = moves ? old_mean[i] + momentum * (mean - old_mean[i]) : old_mean[i],
                         moved_variance = moves && c.rows > 1
                                              ? old_variance[i] + momentum * (squares / (n - 1) - old_variance[i])
                                              : old_variance[i];
            wrong += !(std::abs(new_mean[i] - moved_mean) <= (moves ? off + 8 * u : 0));
            wrong += !(std::abs(new_variance[i] - moved_variance) <=
                       (moves && c.rows > 1 ? 2 * k * squares / (n - 1) + 8 * u * (old_variance[i] + 9) : 0));
            for (std::size_t r = 0; r < c.rows; ++r) {
              const std::size_t at = r * columns + i;
              const double normal = (x[at] - mean) * rstd, expected = normal * gain[i] + bias[i];
              const double allowed = std::abs(gain[i]) * (rstd * off + std::abs(normal) * (2 * k + 8 * u)) +
                                     8 * u * (std::abs(expected) + std::abs(bias[i])) + rounding_of<T>(expected);
              if (!(std::abs(y[at] - expected) <= allowed) && wrong++ == 0)
                UNSCOPED_INFO("row " << r << ", column " << i << ": " << y[at] << " instead of " << expected);
            }
          }
          CHECK(wrong == 0);
        });
  }
}

TEMPLATE_TEST_CASE("the gradients of a normalised batch", "", float, double, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  const double u = sizeof(S) == 8 ? 0x1p-53 : 0x1p-24;
  for (const Case& c : cases) {
    if (c.uses_running) continue;
    const bool add = c.rows == 7, frozen = c.rows == 16, first = c.rows == 100;  // one of each is enough
    CAPTURE(c.rows, c.columns, add, frozen, first);
    const std::size_t count = c.rows * c.columns, columns = c.columns;
    const Values x = values<T>(count, 3, 1), gain = values<T>(columns, 2, 2), d = values<T>(count, 1, 3),
                 mean = values<S>(columns, 0.5, 4), old = values<S>(columns, 1, 6);
    Values rstd = values<S>(columns, 0.25, 5);
    for (double& value : rstd) value = number(rounded<S>(0.6 + value));
    by_definition(
        bytes,
        [&](Arena& arena) {
          op::BatchNormBackward<T, S> o{.x = arena.put<T>(x),
                                        .gain = arena.put<T>(gain),
                                        .d_y = arena.put<T>(d),
                                        .mean = arena.put<S>(mean),
                                        .rstd = arena.put<S>(rstd),
                                        .rows = c.rows,
                                        .columns = columns,
                                        .add = add};
          if (!first) o.d_x = c.rows % 2 == 0 ? o.d_y : arena.room<T>(count);
          if (!frozen) o.d_gain = arena.put<S>(old), o.d_bias = arena.put<S>(old);
          return o;
        },
        [&](const Arena& arena, const op::BatchNormBackward<T, S>& o) {
          const double k = roundings(o.chunks()) * u, n = double(c.rows);
          const Values d_x = first ? Values(count) : arena.get(o.d_x, count),
                       d_gain = frozen ? Values(columns) : arena.get(o.d_gain, columns),
                       d_bias = frozen ? Values(columns) : arena.get(o.d_bias, columns);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < columns; ++i) {
            double sum_d = 0, sum_dn = 0, size_d = 0, size_dn = 0;
            const auto normal = [&](std::size_t at) { return (x[at] - mean[i]) * rstd[i]; };
            for (std::size_t at = i; at < count; at += columns) {
              sum_d += d[at], size_d += std::abs(d[at]);
              sum_dn += d[at] * normal(at), size_dn += std::abs(d[at]) * (3 + std::abs(mean[i])) * rstd[i];
            }
            const double before = add ? old[i] : 0;
            if (!frozen) {
              wrong += !(std::abs(d_bias[i] - before - sum_d) <= k * (size_d + std::abs(before)));
              wrong += !(std::abs(d_gain[i] - before - sum_dn) <= k * (size_dn + std::abs(before)));
            }
            if (first) continue;
            for (std::size_t at = i; at < count; at += columns) {
              const double scale = gain[i] * rstd[i], expected = scale * (d[at] - sum_d / n - normal(at) * sum_dn / n);
              const double allowed = std::abs(scale) * (8 * u * std::abs(d[at]) + k * size_d / n +
                                                        (std::abs(normal(at)) + 4 * u) * k * size_dn / n) +
                                     8 * u * std::abs(expected) + rounding_of<T>(expected);
              if (!(std::abs(d_x[at] - expected) <= allowed) && wrong++ == 0)
                UNSCOPED_INFO("element " << at << ": " << d_x[at] << " instead of " << expected);
            }
          }
          CHECK(wrong == 0);
        });
  }
}

TEMPLATE_TEST_CASE("the mean of ranks", "", float, double) {
  using T = TestType;
  for (const std::size_t ranks : {1u, 2u, 3u, 8u}) {
    const std::size_t count = 37;
    const Values x = integers<T>(ranks * count);
    by_definition(
        bytes, [&](Arena& arena) { return op::MeanOfRanks<T>{arena.put<T>(x), arena.room<T>(count), ranks, count}; },
        [&](const Arena& arena, const auto& o) {
          const Values y = arena.get(o.y, count);
          for (std::size_t i = 0; i < count; ++i) {
            double sum = 0;
            for (std::size_t r = 0; r < ranks; ++r) sum += x[r * count + i];
            CHECK(std::abs(y[i] - sum / double(ranks)) <= 0x1p-23 * std::abs(sum / double(ranks)));
          }
        });
  }
}
