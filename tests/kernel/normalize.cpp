// tests/kernel/normalize.cpp — layer and RMS norm, and softmax, beside their definition, in rows of every kind that the
// kernels tell apart.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/norm.hpp>
#include <regimen/kernel/normalize.hpp>
#include <regimen/kernel/softmax.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

using namespace regimen;
using namespace test;

namespace {

/// `past`: elements from a multiple of 16 bytes to the first row.
struct Rows {
  std::size_t rows, columns, past = 0;
  std::size_t count() const { return rows * columns; }
  std::size_t room() const { return 4 * (count() + 8 * columns + 64) * sizeof(double) + 250000; }
};
enum class Gains { assigned, added, frozen };

/// The row's numbers in the definition, which no kernel computes.
using Wide = long double;
template <class T>
constexpr Wide u_of = Wide(epsilon_of<statistic_t<T>>) / 2;
constexpr Wide epsilon = 1e-2L;
constexpr Wide second_order = 1.01L;

template <bool Centered, class T>
auto forward(const Rows& s, bool in_place) {
  return [=](Arena& arena) {
    using S = statistic_t<T>;
    op::Normalize<Centered, T> o{};
    arena.begin_past(s.past * sizeof(T)), o.x = o.y = arena.put<T>(values<T>(s.count(), 5));
    if (!in_place) arena.begin_past(0), o.y = arena.room<T>(s.count());
    arena.begin_past(0), o.gain = arena.put<T>(values<T>(s.columns, 2, 2));
    arena.begin_past(0);
    if (Centered) o.bias = arena.put<T>(values<T>(s.columns, 2, 3)), o.mean = arena.room<S>(s.rows);
    o.rstd = arena.room<S>(s.rows);
    o.rows = s.rows, o.columns = s.columns, o.epsilon = double(epsilon);
    return o;
  };
}

/// What a sum of n terms in any order is wrong by is at most n u of the sum of their sizes; each further operation adds
/// a u of its result. So with the mean wrong by δ <= (n + 2) u · mean of |x|
///   variance   δ², and (n + 5) u of itself
///   rstd       half of the variance's error over variance + ε, and 4 u: its share of itself
///   y          δ · rstd · |gain|, that share and 4 u of its first term, u of all, and its rounding to T
template <bool Centered, class T>
void forward_is_its_definition(const Rows& s, bool in_place) {
  CAPTURE(name_of<T>, Centered, s.rows, s.columns, s.past, in_place);
  const std::size_t n = s.columns;
  const Wide u = u_of<T>;
  const Values x = values<T>(s.count(), 5), gain = values<T>(n, 2, 2), bias = values<T>(n, 2, 3);
  Values y(s.count()), y_error(s.count()), mean(s.rows), mean_error(s.rows), rstd(s.rows), rstd_error(s.rows);
  for (std::size_t row = 0; row < s.rows; ++row) {
    Wide sum = 0, sizes = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[row * n + i], sizes += std::fabs(x[row * n + i]);
    const Wide m = Centered ? sum / Wide(n) : 0, delta = Centered ? Wide(n + 2) * u * sizes / Wide(n) : 0;
    for (std::size_t i = 0; i < n; ++i) squares += (x[row * n + i] - m) * (x[row * n + i] - m);
    const Wide variance = squares / Wide(n), r = 1 / std::sqrt(variance + epsilon),
               of_variance = delta * delta + Wide(n + 5) * u * (variance + delta * delta),
               share = of_variance / (variance + epsilon) / 2 + 4 * u;
    mean[row] = double(m), mean_error[row] = double(delta * second_order);
    rstd[row] = double(r), rstd_error[row] = double(share * r * second_order);
    for (std::size_t i = 0; i < n; ++i) {
      const Wide scaled = (x[row * n + i] - m) * r * gain[i], all = Centered ? scaled + bias[i] : scaled;
      const Wide error =
          (delta * r * std::fabs(gain[i]) + std::fabs(scaled) * (share + 4 * u) + u * std::fabs(all)) * second_order;
      y[row * n + i] = double(all);
      y_error[row * n + i] = double(error) + rounding_of<T>(double(std::fabs(all) + error));
    }
  }
  in_every_way(s.room(), forward<Centered, T>(s, in_place), [&](const Arena& arena, const auto& o) {
    CHECK(misses(arena.get(o.y, s.count()), y, [&](std::size_t i) { return y_error[i]; }) == 0);
    CHECK(misses(arena.get(o.rstd, s.rows), rstd, [&](std::size_t i) { return rstd_error[i]; }) == 0);
    if (Centered) CHECK(misses(arena.get(o.mean, s.rows), mean, [&](std::size_t i) { return mean_error[i]; }) == 0);
  });
}

template <bool Centered, class T, class G>
auto backward(const Rows& s, Gains gains, bool in_place) {
  return [=](Arena& arena) {
    using S = statistic_t<T>;
    op::NormalizeBackward<Centered, T, G> o{};
    arena.begin_past(0), o.x = arena.put<T>(values<T>(s.count(), 5));
    arena.begin_past(0), o.gain = arena.put<T>(values<T>(s.columns, 2, 2));
    arena.begin_past(s.past * sizeof(T)), o.d_y = o.d_x = arena.put<T>(values<T>(s.count(), 1, 4));
    if (!in_place) arena.begin_past(0), o.d_x = arena.room<T>(s.count());
    arena.begin_past(0);
    if (Centered) o.mean = arena.put<S>(values<S>(s.rows, 1, 7));
    o.rstd = arena.put<S>(values<S>(s.rows, 3, 8));
    if (gains != Gains::frozen) o.d_gain = arena.put<G>(values<G>(s.columns, 1, 6));
    if (Centered && gains != Gains::frozen) o.d_bias = arena.put<G>(values<G>(s.columns, 1, 5));
    o.rows = s.rows, o.columns = s.columns, o.add = gains == Gains::added;
    return o;
  };
}

/// Of any mean and rstd, which forward has stored. As above: e is wrong by u, normal numbers by 2 u, their means by
/// (n + 3) u and (n + 6) u of their terms' sizes, d_x by those and six roundings of each of its terms; sums over rows
/// by (rows + 4) u, and what is added by 2 u.
template <bool Centered, class T, class G>
void backward_is_its_definition(const Rows& s, Gains gains, bool in_place) {
  CAPTURE(name_of<T>, name_of<G>, Centered, s.rows, s.columns, s.past, int(gains), in_place);
  using S = statistic_t<T>;
  const std::size_t n = s.columns;
  const Wide u = u_of<T>;
  const Values x = values<T>(s.count(), 5), gain = values<T>(n, 2, 2), d_y = values<T>(s.count(), 1, 4),
               mean = values<S>(s.rows, 1, 7), rstd = values<S>(s.rows, 3, 8);
  const Values onto = values<T>(s.count(), 2, 9);
  Values d_x(s.count()), d_x_error(s.count()), sum(s.count()), sum_error(s.count());
  std::vector<Wide> sums[2] = {std::vector<Wide>(n), std::vector<Wide>(n)}, sizes[2] = {sums[0], sums[0]};
  for (std::size_t row = 0; row < s.rows; ++row) {
    const Wide r = rstd[row];
    const auto e = [&](std::size_t i) { return Wide(d_y[row * n + i]) * gain[i]; };
    const auto normal = [&](std::size_t i) { return (Wide(x[row * n + i]) - (Centered ? mean[row] : 0)) * r; };
    Wide mean_e = 0, mean_en = 0, of_e = 0, of_en = 0;
    for (std::size_t i = 0; i < n; ++i) {
      mean_e += Centered ? e(i) / Wide(n) : 0, mean_en += e(i) * normal(i) / Wide(n);
      of_e += Centered ? std::fabs(e(i)) / Wide(n) : 0, of_en += std::fabs(e(i) * normal(i)) / Wide(n);
      const Wide terms[] = {d_y[row * n + i] * normal(i), d_y[row * n + i]};
      for (int kind = 0; kind < 2; ++kind) sums[kind][i] += terms[kind], sizes[kind][i] += std::fabs(terms[kind]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Wide all = (e(i) - mean_e - normal(i) * mean_en) * r,
                 error = std::fabs(r) * second_order *
                         (Wide(n + 3) * u * of_e + std::fabs(normal(i)) * Wide(n + 6) * u * of_en +
                          6 * u * (std::fabs(e(i)) + std::fabs(mean_e) + std::fabs(normal(i) * mean_en)));
      d_x[row * n + i] = double(all);
      d_x_error[row * n + i] = double(error) + rounding_of<T>(double(std::fabs(all) + error));
      // With a sum: a rounding more, before that to T.
      const Wide both = all + onto[row * n + i], wrong = error + u * (std::fabs(both) + error);
      sum[row * n + i] = double(both);
      sum_error[row * n + i] = double(wrong) + rounding_of<T>(double(std::fabs(both) + wrong));
    }
  }
  const auto with_sum = [&](Arena& arena) {
    op::NormalizeBackwardSum<Centered, T, G> o{.backward = backward<Centered, T, G>(s, gains, in_place)(arena),
                                               .onto = {}};
    arena.begin_past((gains == Gains::assigned ? s.past : 1) * sizeof(T)), o.onto = arena.put<T>(onto);
    return o;
  };
  in_every_way(s.room(), with_sum, [&](const Arena& arena, const auto& o) {
    CHECK(misses(arena.get(o.backward.d_x, s.count()), sum, [&](std::size_t i) { return sum_error[i]; }) == 0);
    CHECK(arena.get(o.onto, s.count()) == onto);
  });
  const Values before[2] = {values<G>(n, 1, 6), values<G>(n, 1, 5)};
  in_every_way(s.room(), backward<Centered, T, G>(s, gains, in_place), [&](const Arena& arena, const auto& o) {
    CHECK(misses(arena.get(o.d_x, s.count()), d_x, [&](std::size_t i) { return d_x_error[i]; }) == 0);
    if (gains == Gains::frozen) return;
    for (int kind = 0; kind < (Centered ? 2 : 1); ++kind) {
      Values wanted(n), error(n);
      for (std::size_t i = 0; i < n; ++i) {
        const Wide old = gains == Gains::added ? before[kind][i] : 0, all = old + sums[kind][i],
                   wrong = (Wide(s.rows + 4) * sizes[kind][i] + 2 * std::fabs(all)) * u * second_order;
        wanted[i] = double(all), error[i] = double(wrong) + rounding_of<G>(double(std::fabs(all) + wrong));
      }
      CHECK(misses(arena.get(kind == 0 ? o.d_gain : o.d_bias, n), wanted, [&](std::size_t i) { return error[i]; }) ==
            0);
    }
  });
}

template <class T, class G>
void is_its_definition(const Rows& s, bool in_place = true) {
  forward_is_its_definition<true, T>(s, in_place), forward_is_its_definition<false, T>(s, !in_place);
  backward_is_its_definition<true, T, G>(s, Gains::assigned, in_place);
  backward_is_its_definition<false, T, G>(s, Gains::added, !in_place);
}

using Types =
    std::tuple<std::pair<double, double>, std::pair<float, float>, std::pair<bf16, float>, std::pair<fp16, fp16>>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("layer and RMS norm, rows that are multiples of nothing", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  for (const std::size_t columns : Sizes{1, 2, 3, 7, 31, 33, 255, 257, 768, 1023})
    for (const std::size_t rows : Sizes{1, 3, 65}) is_its_definition<T, G>({rows, columns}, columns % 2 == 0);
  for (const std::size_t rows : Sizes{1, 9}) is_its_definition<T, G>({rows, 5000});
}

/// Rows that a warp holds to the last run, that are a run longer, that a block holds to the last, and longer ones; and
/// the same for rows that do not begin at multiples of 16 bytes, which are taken element by element.
TEMPLATE_LIST_TEST_CASE("layer and RMS norm, rows on both sides of every border", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  constexpr std::size_t run = kernel::pack_of<T>, of_warp = kernel::held_runs * 32, of_block = kernel::held_runs * 256;
  for (const std::size_t columns : Sizes{of_warp, of_warp + 1, of_block, of_block + 1})
    is_its_definition<T, G>({9, columns * run});
  for (const std::size_t columns : Sizes{run, 16 * run, of_warp, of_warp + run, of_block, of_block + run})
    is_its_definition<T, G>({9, columns, 1});
}

TEMPLATE_TEST_CASE("gains are assigned, added to, or nobody wants them", "", std::true_type, std::false_type) {
  for (const std::size_t columns : Sizes{31, 64, 4104})
    for (const Gains gains : {Gains::assigned, Gains::added, Gains::frozen})
      for (const bool in_place : {false, true})
        backward_is_its_definition<TestType::value, float, float>({17, columns}, gains, in_place);
}

TEST_CASE("a layer norm whose gain alone has a gradient") {
  const Rows s{20, 40};
  for (const Way& way : ways) {
    CAPTURE(way.name);
    const auto make = backward<true, float, float>(s, Gains::assigned, true);
    Arena both(s.room()), alone(s.room());
    const auto o = make(both);
    auto without = make(alone);
    without.d_bias = {};
    run(o, both, way), run(without, alone, way);
    CHECK(alone.get(o.d_gain, s.columns) == both.get(o.d_gain, s.columns));
    CHECK(alone.get(o.d_bias, s.columns) == values<float>(s.columns, 1, 5));
  }
}

TEST_CASE("no rows: gradients of 0, or what was there") {
  for (const std::size_t columns : Sizes{5, 64, 5000})
    for (const Gains gains : {Gains::assigned, Gains::added}) {
      const Rows s{0, columns};
      in_every_way(s.room(), backward<true, float, float>(s, gains, true), [&](const Arena& arena, const auto& o) {
        const bool added = gains == Gains::added;
        CHECK(arena.get(o.d_gain, columns) == (added ? values<float>(columns, 1, 6) : Values(columns)));
        CHECK(arena.get(o.d_bias, columns) == (added ? values<float>(columns, 1, 5) : Values(columns)));
      });
    }
}

TEST_CASE("2^31 rows are refused before anything runs, one fewer are not") {
  op::NormalizeBackward<true, float, float> o{};
  o.columns = 1;
  o.rows = 0x7FFFFFFFu;
  CHECK_NOTHROW(kernel::scratch_of(o));
  ++o.rows;
  CHECK_THROWS_WITH(kernel::scratch_of(o), Catch::Contains("fewer than 2^31 rows") && Catch::Contains("2147483648"));
  const op::NormalizeBackwardSum<true, float, float> sum{.backward = o, .onto = {}};
  CHECK_THROWS_WITH(kernel::scratch_of(sum), Catch::Contains("fewer than 2^31 rows"));
}
TEST_CASE("chunks of rows: a number that the shape alone decides, each with rows, all rows in them") {
  for (const std::size_t rows : Sizes{1, 7, 8, 9, 2047, 2048, 2049, 3000, 16384, 100003})
    for (const std::size_t columns : Sizes{1, 768, 8192, 3000000}) {
      const kernel::detail::NormalChunks chunks{rows, columns, 2};
      CAPTURE(rows, columns, chunks.count());
      CHECK(chunks.count() <= chunks.most);
      CHECK(chunks.count() * chunks.sums() <= std::max(chunks.most_sums, chunks.sums()));
      CHECK(chunks.count() * chunks.rows_each() >= rows);
      CHECK((chunks.count() - 1) * chunks.rows_each() < rows);
      CHECK((chunks.count() == 1 || chunks.rows_each() >= 8));
    }
  is_its_definition<float, float>({3000, 5});
  is_its_definition<bf16, float>({2049, 16});
}

/// Of numbers up to 6, the difference from the largest up to 12: exp of it is wrong by 12 u and what exp itself is, at
/// most 2 ulp, which is 4 u; the sum by n u more, the quotient by 4. One element of a row is so low that it becomes 0.
/// Backward, of any y: the sum is wrong by (n + 2) u of its terms' sizes, the rest are three roundings.
template <class T>
void softmax_is_its_definition(const Rows& s, bool in_place) {
  CAPTURE(name_of<T>, s.rows, s.columns, s.past, in_place);
  const std::size_t n = s.columns;
  const Wide u = u_of<T>;
  Values x = values<T>(s.count(), 6);
  if (n > 2 && s.rows > 0) x[n - 2] = -std::numeric_limits<double>::infinity();
  by_definition(
      s.room(),
      [&](Arena& arena) {
        op::Softmax<T> o{};
        arena.begin_past(s.past * sizeof(T)), o.x = o.y = arena.put<T>(x);
        if (!in_place) arena.begin_past(0), o.y = arena.room<T>(s.count());
        o.rows = s.rows, o.columns = n;
        return o;
      },
      [&](const Arena& arena, const auto& o) {
        Values y(s.count());
        for (std::size_t row = 0; row < s.rows; ++row) {
          Wide total = 0;
          for (std::size_t i = 0; i < n; ++i) total += std::exp(Wide(x[row * n + i]));
          for (std::size_t i = 0; i < n; ++i) y[row * n + i] = double(std::exp(Wide(x[row * n + i])) / total);
        }
        CHECK(misses(arena.get(o.y, s.count()), y, [&](std::size_t i) {
                return double(second_order * (2 * 16 + Wide(n) + 4) * u) * y[i] + rounding_of<T>(y[i]);
              }) == 0);
      });
  const Values y = values<T>(s.count(), 1, 2), d_y = values<T>(s.count(), 2, 3);
  by_definition(
      s.room(),
      [&](Arena& arena) {
        op::SoftmaxBackward<T> o{};
        arena.begin_past(s.past * sizeof(T)), o.y = arena.put<T>(y);
        arena.begin_past(s.past * sizeof(T)), o.d_y = o.d_x = arena.put<T>(d_y);
        if (!in_place) arena.begin_past(0), o.d_x = arena.room<T>(s.count());
        o.rows = s.rows, o.columns = n;
        return o;
      },
      [&](const Arena& arena, const auto& o) {
        Values d_x(s.count()), error(s.count());
        for (std::size_t row = 0; row < s.rows; ++row) {
          Wide sum = 0, size = 0;
          for (std::size_t i = row * n; i < (row + 1) * n; ++i)
            sum += Wide(y[i]) * d_y[i], size += std::fabs(Wide(y[i]) * d_y[i]);
          for (std::size_t i = row * n; i < (row + 1) * n; ++i) {
            const Wide all = y[i] * (d_y[i] - sum),
                       wrong = second_order * u * (std::fabs(y[i]) * Wide(n + 2) * size + 3 * std::fabs(all));
            d_x[i] = double(all), error[i] = double(wrong) + rounding_of<T>(double(std::fabs(all) + wrong));
          }
        }
        CHECK(misses(arena.get(o.d_x, s.count()), d_x, [&](std::size_t i) { return error[i]; }) == 0);
      });
}
TEMPLATE_TEST_CASE("softmax, rows of every kind", "", float, double, bf16, fp16) {
  constexpr std::size_t run = kernel::pack_of<TestType>, of_block = kernel::held_runs * 256 * run;
  for (const std::size_t columns : Sizes{1, 3, 16 * run, 257, of_block, of_block + run})
    for (const std::size_t rows : Sizes{1, 9}) softmax_is_its_definition<TestType>({rows, columns}, rows == 1);
  softmax_is_its_definition<TestType>({9, 16 * run, 1}, true);
  softmax_is_its_definition<TestType>({0, 7}, true);
}
TEMPLATE_TEST_CASE("a softmax of NaN, or of no finite number, is NaN, and large ones do not overflow", "", float,
                   double) {
  using T = TestType;
  for (const std::size_t columns : Sizes{2, 37}) {
    Values x(4 * columns, 1e30);
    x[columns - 1] = std::nan("");
    x[2 * columns - 1] = std::numeric_limits<double>::infinity();
    for (std::size_t i = 2 * columns; i < 3 * columns; ++i) x[i] = -std::numeric_limits<double>::infinity();
    by_definition(
        65536, [&](Arena& arena) { return op::Softmax<T>{arena.put<T>(x), arena.room<T>(x.size()), 4, columns}; },
        [&](const Arena& arena, const auto& o) {
          const Values y = arena.get(o.y, x.size());
          for (const std::size_t i : {columns - 1, 2 * columns - 1, 3 * columns - 1}) CHECK(std::isnan(y[i]));
          CHECK(std::isnan(y[0]));
          for (std::size_t i = 3 * columns; i < x.size(); ++i)
            CHECK(std::fabs(y[i] * double(columns) - 1) <= double(columns + 4) * 0x1p-24);
        });
  }
}

TEST_CASE("a missing barrier and a missing thread are told") {
  const auto barrier = [](const std::vector<std::string>& all) {
    for (const std::string& text : all) {
      INFO(text);
      CHECK((text.find("shared memory that was written") != std::string::npos ||
             text.find("a barrier between two threads") != std::string::npos));
    }
  };
  for (const Rows& s : {Rows{9, 40}, Rows{9, 133}, Rows{65, 768}}) {
    CAPTURE(s.columns);
    const auto there = forward<true, float>(s, false);
    const auto back = backward<true, float, float>(s, Gains::assigned, true);
    const auto y = [&](const Arena& arena, const auto& o) { return arena.get(o.y, s.count()); };
    const auto gains = [&](const Arena& arena, const auto& o) { return arena.get(o.d_gain, s.columns); };
    if (s.columns != 40) barrier(told<WithoutBarriers>(s.room(), there, y));  // a warp has no barrier to miss
    barrier(told<WithoutBarriers>(s.room(), back, gains));
    barrier(told<WithoutBarriers, 1>(s.room(), back, gains));
    for (const std::string& text : told<WithoutAThread>(s.room(), there, y))
      CHECK_THAT(text, Catch::Contains("has left the kernel"));
    for (const std::string& text : told<WithoutAThread>(s.room(), back, gains))
      CHECK_THAT(text, Catch::Contains("has left the kernel"));
  }
}
// SPDX-License-Identifier: Apache-2.0
