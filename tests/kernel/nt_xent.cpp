// tests/kernel/nt_xent.cpp — the operations of NtXent by their definitions, on the CPU and as kernels in every order of
// threads.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/nt_xent.hpp>
#include <regimen/kernel/nt_xent.hpp>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t bytes = std::size_t{1} << 21;

/// Ranks of so many rows, a gap behind each rank's; this is the last rank. Of each rank the second sample does not exist,
/// and the first row has the length 0.
struct Case {
  std::size_t ranks, rows, columns;
  double temperature;
  std::size_t count() const { return ranks * rows; }
  std::size_t slice() const { return rows * (columns + 1) + 5; }
  bool exists(std::size_t k) const { return k % rows / 2 != 1; }
  bool is_own(std::size_t k) const { return k / rows == ranks - 1; }
  template <class S>
  op::Embeddings<S> embeddings(View<S> all) const {
    return {all, ranks, ranks - 1, rows, columns, slice(), rows + 3};
  }
};
// Alone; more rows and columns than a block has threads; a lone sample; one column.
constexpr Case cases[] = {{1, 6, 5, 0.5}, {3, 100, 33, 0.1}, {2, 8, 300, 1}, {1, 4, 7, 0.1}, {2, 6, 1, 0.5}};

/// Unit vectors, lengths behind them.
template <class S>
Values embeddings_of(const Case& c) {
  Values all(c.ranks * c.slice());
  const Values drawn = values<S>(c.count() * c.columns, 1, 7);
  const auto z = c.embeddings<S>({0});
  for (std::size_t k = 0; k < c.count(); ++k) {
    double squares = 0;
    for (std::size_t i = 0; i < c.columns; ++i) squares += drawn[k * c.columns + i] * drawn[k * c.columns + i];
    const double length = k % c.rows == 0 ? 0 : std::sqrt(squares);
    for (std::size_t i = 0; i < c.columns; ++i)
      all[z.row(k) + i] = c.exists(k) && length > 0 ? number(rounded<S>(drawn[k * c.columns + i] / length)) : 0;
    all[z.length(k)] = c.exists(k) ? number(rounded<S>(length)) : -1;
  }
  return all;
}

/// t_ik, and what comes of all of them.
template <class S>
struct Pairs {
  const Case& c;
  const Values& all;
  op::Embeddings<S> z = c.embeddings<S>({0});
  double at(std::size_t i, std::size_t k) const {
    double sum = 0;
    for (std::size_t n = 0; n < c.columns; ++n) sum += all[z.row(i) + n] * all[z.row(k) + n];
    return sum / c.temperature;
  }
  double log_sum(std::size_t i) const {
    double sum = 0;
    for (std::size_t k = 0; k < c.count(); ++k)
      if (k != i && c.exists(k)) sum += std::exp(at(i, k));
    return std::log(sum);
  }
  double largest(std::size_t i) const {
    double most = -INFINITY;
    for (std::size_t k = 0; k < c.count(); ++k)
      if (k != i && c.exists(k)) most = std::fmax(most, at(i, k));
    return most;
  }
};
/// log Σ exp t of each row, of the two numbers that an operation has given; 0 of a row that does not exist.
Values log_sums_of(const Case& c, const Values& softmax) {
  Values all(softmax.size() / 2);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = softmax[2 * i + 1] == 0 ? softmax[2 * i] : softmax[2 * i] / c.temperature - std::log(softmax[2 * i + 1]);
  return all;
}
/// Roundings of a similarity, of the logarithm of a sum of exponentials, and of one of them divided by it. Vectors are
/// of length 1, so t is at most 1 / temperature.
double roundings(const Case& c) {
  return 2 * (double(c.columns) + 4) / c.temperature + double(c.count()) + 8 * (1 + 1 / c.temperature);
}

}  // namespace

TEMPLATE_TEST_CASE("views are divided by their lengths", "", float, double) {
  using S = TestType;
  const double u = sizeof(S) == 8 ? 0x1p-53 : 0x1p-24;
  for (const Case& c : cases) {
    CAPTURE(c.ranks, c.rows, c.columns);
    Values x = values<S>(c.rows * c.columns, 9, 1);
    for (std::size_t i = 0; i < c.columns; ++i) x[i] = 0;
    const std::size_t samples = c.rows / 2 - 1;  // a short batch, of whose samples the second is to be left out
    std::vector<std::int32_t> targets(samples, 0);
    if (samples > 1) targets[1] = ignore_index;
    const Values before = values<S>(c.ranks * c.slice(), 1, 2);
    by_definition(
        bytes,
        [&](Arena& arena) {
          return op::NormalizeViews<S>{arena.put<S>(x), put_integers(arena, targets),
                                       c.embeddings<S>(arena.put<S>(before)), samples};
        },
        [&](const Arena& arena, const op::NormalizeViews<S>& o) {
          Values expected = before;
          for (std::size_t row = 0; row < c.rows; ++row) {
            const bool exists = row / 2 < samples && row / 2 != 1;
            double squares = 0;
            for (std::size_t i = 0; i < c.columns; ++i) squares += x[row * c.columns + i] * x[row * c.columns + i];
            const std::size_t k = o.z.own(row);
            expected[o.z.length(k)] = exists ? std::sqrt(squares) : -1;
            for (std::size_t i = 0; i < c.columns; ++i)
              expected[o.z.row(k) + i] = exists && squares > 0 ? x[row * c.columns + i] / std::sqrt(squares) : 0;
          }
          const double sum = (double(c.columns) + 4) * 0x1p-53;  // of squares, in fp64
          CHECK(misses(arena.get(o.z.all, expected.size()), expected,
                       [&](std::size_t i) { return (2 * u + sum) * std::fabs(expected[i]); }) == 0);
        });
  }
}

TEMPLATE_TEST_CASE("each row finds its other view among all rows", "", float, double) {
  using S = TestType;
  const double u = sizeof(S) == 8 ? 0x1p-53 : 0x1p-24;
  for (const Case& c : cases) {
    CAPTURE(c.ranks, c.rows, c.columns);
    const Values all = embeddings_of<S>(c), before = values<S>(2 * c.ranks * (c.rows + 3), 1, 3);
    const Pairs<S> pairs{c, all};
    Scalars scalars;
    scalars.loss_sum = 3, scalars.count = 5, scalars.correct = 7;
    by_definition(
        bytes,
        [&](Arena& arena) {
          return op::NtXent<S>{
              c.embeddings<S>(arena.put<S>(all)), {arena.put<S>(before).offset}, arena.scalars(scalars), c.temperature};
        },
        [&](Arena& arena, const op::NtXent<S>& o) {
          Values log_sums(before.size() / 2);
          double loss = 3, count = 5, correct = 7;
          for (std::size_t row = 0; row < c.rows; ++row) {
            const std::size_t i = o.z.own(row);
            log_sums[o.z.sum(i)] = c.exists(i) ? pairs.log_sum(i) : 0;
            if (!c.exists(i)) continue;
            loss += pairs.log_sum(i) - pairs.at(i, i ^ 1);
            count += 1;
            double most = -1e9;
            for (std::size_t k = 0; k < c.count(); ++k)
              if (c.exists(k) && k / 2 != i / 2) most = std::max(most, pairs.at(i, k));
            correct += pairs.at(i, i ^ 1) >= most ? 1 : 0;
          }
          const Scalars found = *arena.memory()(o.scalars);
          CHECK(found.count == count);
          // Of one column all similarities are 1 or -1, and equal ones are near.
          if (c.columns > 1) CHECK(found.correct == correct);
          CHECK(std::fabs(found.loss_sum - loss) <= (count * roundings(c) + 8) * u);
          const Values found_rows = arena.get(View<S>{o.softmax.offset}, before.size());
          const std::size_t first = o.z.sum(o.z.own(0)), end = first + c.rows;
          for (std::size_t i = 0; i < before.size(); ++i)
            if (i / 2 < first || i / 2 >= end) CHECK(found_rows[i] == before[i]);  // of another rank, or of a gap
          Values found_sums = log_sums_of(c, found_rows);
          for (std::size_t i = 0; i < found_sums.size(); ++i)
            if (i < first || i >= end) found_sums[i] = log_sums[i] = 0;
          CHECK(misses(found_sums, log_sums, [&](std::size_t) { return roundings(c) * u; }) == 0);
        });
  }
}

TEMPLATE_TEST_CASE("a row's gradient is that of the losses of all rows", "", float, double) {
  using S = TestType;
  const double u = sizeof(S) == 8 ? 0x1p-53 : 0x1p-24;
  for (const Case& c : cases) {
    CAPTURE(c.ranks, c.rows, c.columns);
    const Values all = embeddings_of<S>(c);
    const Pairs<S> pairs{c, all};
    Values softmax(2 * c.ranks * (c.rows + 3)), log_sums(c.count());
    for (std::size_t k = 0; k < c.count(); ++k) {
      if (!c.exists(k)) continue;
      const double largest = pairs.largest(k);
      log_sums[k] = pairs.log_sum(k);
      softmax[2 * pairs.z.sum(k)] = number(rounded<S>(largest * c.temperature));
      softmax[2 * pairs.z.sum(k) + 1] = number(rounded<S>(std::exp(largest - log_sums[k])));
    }
    const std::size_t samples = c.rows / 2;
    Scalars scalars;
    scalars.loss_scale = 4;
    by_definition(
        bytes,
        [&](Arena& arena) {
          return op::NtXentBackward<S>{c.embeddings<S>(arena.put<S>(all)),
                                       {arena.put<S>(softmax).offset},
                                       arena.put<S>(values<S>(c.rows * c.columns, 1, 4)),
                                       arena.scalars(scalars),
                                       samples,
                                       c.temperature,
                                       0.25};
        },
        [&](const Arena& arena, const op::NtXentBackward<S>& o) {
          Values expected(c.rows * c.columns), tolerance(c.rows * c.columns);
          for (std::size_t row = 0; row < c.rows; ++row) {
            const std::size_t i = o.z.own(row);
            const double length = all[o.z.length(i)];
            if (!(length > 0)) continue;
            Values d(c.columns);
            double along = 0, weights = 0;
            for (std::size_t k = 0; k < c.count(); ++k) {
              if (k == i || !c.exists(k)) continue;
              const double t = pairs.at(i, k), own = std::exp(t - log_sums[i]), other = std::exp(t - log_sums[k]),
                           weight = own + other - (k == (i ^ 1) ? 2 : 0);
              weights += own + other + (k == (i ^ 1) ? 2 : 0);
              for (std::size_t n = 0; n < c.columns; ++n) d[n] += weight * all[o.z.row(k) + n];
            }
            for (std::size_t n = 0; n < c.columns; ++n) along += d[n] * all[o.z.row(i) + n];
            for (std::size_t n = 0; n < c.columns; ++n) {
              expected[row * c.columns + n] = (d[n] - along * all[o.z.row(i) + n]) / (c.temperature * length);
              // Weights are off by as many roundings as a quotient has, d by as many as it has terms, its part along z by
              // as many as z has columns, all of at most the sum of weights.
              tolerance[row * c.columns + n] = weights * 2 *
                                               (roundings(c) + double(c.count()) + double(c.columns) + 8) * u /
                                               (c.temperature * length);
            }
          }
          CHECK(misses(arena.get(o.d_x, expected.size()), expected, [&](std::size_t i) { return tolerance[i]; }) == 0);
        });
  }
}
