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
          // Running ones are written for a backward, or not at all.
          if (!c.uses_running || c.rows > 1) o.mean = arena.room<S>(columns), o.rstd = arena.room<S>(columns);
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
            if (c.uses_running && !o.mean.is_absent()) {
              wrong += arena.get(o.mean, columns)[i] != old_mean[i];
              wrong += !(std::abs(arena.get(o.rstd, columns)[i] - rstd) <= 4 * u * rstd);
            }
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
    const bool add = c.rows == 7, frozen = c.rows == 16 || c.rows == 9,
               first = c.rows == 100;  // one of each is enough, and two that use running statistics
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
                                        .add = add,
                                        .uses_running = c.uses_running};
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
              const double scale = gain[i] * rstd[i],
                           expected =
                               c.uses_running ? scale * d[at] : scale * (d[at] - sum_d / n - normal(at) * sum_dn / n);
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

TEMPLATE_TEST_CASE("what ranks say of their rows", "", float, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const Case& c : cases) {
    if (c.uses_running) continue;
    CAPTURE(c.rows, c.columns);
    const std::size_t count = c.rows * c.columns, columns = c.columns, size = op::described_by(columns);
    const Values x = values<T>(count, 3, 1), d = values<T>(count, 1, 3), mean = values<S>(columns, 0.5, 4),
                 rstd = values<S>(columns, 1, 5);
    const auto judge = [&](const Arena& arena, const auto& o, const auto& first, const auto& second) {
      const double k = roundings(o.chunks()) * 0x1p-24;
      const Values y = arena.get(o.y, size);
      std::size_t wrong = y[2 * columns] != double(c.rows);
      for (std::size_t i = 0; i < columns; ++i) {
        const auto [a, size_of_a] = first(i);
        const auto [b, size_of_b] = second(i, a);
        wrong += !(std::abs(y[i] - a) <= k * size_of_a) + !(std::abs(y[columns + i] - b) <= 2 * k * size_of_b);
      }
      CHECK(wrong == 0);
    };
    const auto sum = [&](std::size_t column, const auto& term) {
      std::pair<double, double> all{0, 0};  // and of magnitudes
      for (std::size_t at = column; at < count; at += columns) all.first += term(at), all.second += std::abs(term(at));
      return all;
    };
    by_definition(
        bytes, [&](Arena& arena) { return op::BatchMoments<T>{arena.put<T>(x), arena.room<S>(size), c.rows, columns}; },
        [&](const Arena& arena, const auto& o) {
          judge(
              arena, o, [&](std::size_t i) { return sum(i, [&](std::size_t at) { return x[at] / double(c.rows); }); },
              [&](std::size_t i, double m) {
                return sum(i, [&](std::size_t at) { return (x[at] - m) * (x[at] - m); });
              });
        });
    by_definition(
        bytes,
        [&](Arena& arena) {
          return op::BatchSums<T>{.x = arena.put<T>(x),
                                  .d_y = arena.put<T>(d),
                                  .mean = arena.put<S>(mean),
                                  .rstd = arena.put<S>(rstd),
                                  .y = arena.room<S>(size),
                                  .rows = c.rows,
                                  .columns = columns};
        },
        [&](const Arena& arena, const auto& o) {
          judge(
              arena, o, [&](std::size_t i) { return sum(i, [&](std::size_t at) { return d[at]; }); },
              [&](std::size_t i, double) {
                return sum(i, [&](std::size_t at) { return d[at] * (x[at] - mean[i]) * rstd[i]; });
              });
        });
  }
}

/// Ranks of 3, 0 and 5 rows; this is the last of them, or the one without.
TEMPLATE_TEST_CASE("rows are normalised by what all ranks say of theirs", "", float, bf16) {
  using T = TestType;
  using S = statistic_t<T>;
  constexpr std::size_t ranks = 3, columns = 37, size = op::described_by(columns);
  constexpr double u = 0x1p-24, epsilon = 1e-3, momentum = 0.25, counts[ranks] = {3, 0, 5};
  for (const std::size_t rank : {1u, 2u}) {
    CAPTURE(rank);
    const std::size_t rows = rank == 1 ? 0 : 5;
    const Values x = values<T>(rows * columns, 3, 1), d = values<T>(rows * columns, 1, 7),
                 gain = values<T>(columns, 2, 2), bias = values<T>(columns, 2, 3), old = values<S>(columns, 1, 4);
    Values said = values<S>(ranks * size, 2, 5);
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t i = columns; i < 2 * columns; ++i) said[r * size + i] = std::abs(said[r * size + i]);
      said[r * size + 2 * columns] = counts[r];  // the moments of rank 1 are of no row, and count nothing
    }
    by_definition(
        bytes,
        [&](Arena& arena) {
          return op::BatchNorm<T, S>{.x = arena.put<T>(x),
                                     .gain = arena.put<T>(gain),
                                     .bias = arena.put<T>(bias),
                                     .y = arena.room<T>(rows * columns),
                                     .mean = arena.room<S>(columns),
                                     .rstd = arena.room<S>(columns),
                                     .running_mean = arena.put<S>(old),
                                     .running_variance = arena.put<S>(old),
                                     .rows = rows,
                                     .columns = columns,
                                     .epsilon = epsilon,
                                     .momentum = momentum,
                                     .moves = true,
                                     .of_ranks = arena.put<S>(said),
                                     .ranks = ranks};
        },
        [&](const Arena& arena, const auto& o) {
          const Values y = arena.get(o.y, rows * columns), mean = arena.get(o.mean, columns),
                       rstd = arena.get(o.rstd, columns), moved = arena.get(o.running_mean, columns),
                       variance = arena.get(o.running_variance, columns);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < columns; ++i) {
            const double a = said[i], b = said[2 * size + i], all = (3 * a + 5 * b) / 8,
                         squares = said[columns + i] + said[2 * size + columns + i] + 3 * (a - all) * (a - all) +
                                   5 * (b - all) * (b - all),
                         wanted = 1 / std::sqrt(squares / 8 + epsilon), off = 8 * u * (std::abs(a) + std::abs(b));
            wrong += !(std::abs(mean[i] - all) <= off) + !(std::abs(rstd[i] - wanted) <= 16 * u * wanted);
            wrong += !(std::abs(moved[i] - (old[i] + momentum * (all - old[i]))) <= off + 4 * u * std::abs(old[i]));
            wrong += !(std::abs(variance[i] - (old[i] + momentum * (squares / 7 - old[i]))) <=
                       16 * u * (squares + std::abs(old[i])));
            for (std::size_t at = i; at < rows * columns; at += columns) {
              const double normal = (x[at] - all) * wanted, expected = normal * gain[i] + bias[i];
              wrong += !(std::abs(y[at] - expected) <= std::abs(gain[i]) * (wanted * off + 24 * u * std::abs(normal)) +
                                                           4 * u * std::abs(expected) + 4 * u * std::abs(bias[i]) +
                                                           rounding_of<T>(expected));
            }
          }
          CHECK(wrong == 0);
        });
    by_definition(
        bytes,
        [&](Arena& arena) {
          op::BatchNormBackward<T, S> o{.x = arena.put<T>(x),
                                        .gain = arena.put<T>(gain),
                                        .d_y = arena.put<T>(d),
                                        .mean = arena.put<S>(old),
                                        .rstd = arena.put<S>(values<S>(columns, 1, 6)),
                                        .d_gain = arena.room<S>(columns),
                                        .d_bias = arena.put<S>(old),
                                        .rows = rows,
                                        .columns = columns,
                                        .of_ranks = arena.put<S>(said),
                                        .ranks = ranks,
                                        .rank = rank};
          o.d_x = o.d_y;
          return o;
        },
        [&](const Arena& arena, const auto& o) {
          const Values d_x = arena.get(o.d_x, rows * columns), d_gain = arena.get(o.d_gain, columns),
                       d_bias = arena.get(o.d_bias, columns), rstd = arena.get(o.rstd, columns);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < columns; ++i) {
            double sum_d = 0, sum_dn = 0, size_d = 0, size_dn = 0;
            for (std::size_t r = 0; r < ranks; ++r) {
              const double one = said[r * size + i], other = said[r * size + columns + i];
              sum_d += one, size_d += std::abs(one);
              sum_dn += other, size_dn += std::abs(other);
            }
            wrong += d_bias[i] != said[rank * size + i] || d_gain[i] != said[rank * size + columns + i];
            for (std::size_t at = i; at < rows * columns; at += columns) {
              const double normal = (x[at] - old[i]) * rstd[i], scale = gain[i] * rstd[i],
                           expected = scale * (d[at] - sum_d / 8 - normal * sum_dn / 8);
              wrong += !(std::abs(d_x[at] - expected) <=
                         8 * u * std::abs(scale) * (std::abs(d[at]) + size_d + std::abs(normal) * size_dn) +
                             rounding_of<T>(expected));
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
            double mean = 0;
            for (std::size_t r = 0; r < ranks; ++r) mean += x[r * count + i] / double(ranks);
            CHECK(std::abs(y[i] - mean) <= 0x1p-23 * (std::abs(mean) + std::abs(mean - x[i])));
          }
        });
    const Values same = values<T>(count, 3, 2);
    Values of_all;
    for (std::size_t r = 0; r < ranks; ++r) of_all.insert(of_all.end(), same.begin(), same.end());
    by_definition(
        bytes,
        [&](Arena& arena) { return op::MeanOfRanks<T>{arena.put<T>(of_all), arena.room<T>(count), ranks, count}; },
        [&](const Arena& arena, const auto& o) { CHECK(arena.get(o.y, count) == same); });
  }
}
