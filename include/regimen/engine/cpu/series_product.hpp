// regimen/engine/cpu/series_product.hpp — products with one b after another, as of the positions of a recurrent layer: b is
// read where it lies, since a copy would cost as much as the product of a few rows.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/engine/cpu/part.hpp>
#include <regimen/engine/cpu/register_tile.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace regimen::cpu {

namespace detail {

/// Rows and columns of a tile of dot products, which are as many as a register has lanes.
template <class S>
inline constexpr std::size_t dot_rows = lanes<S> < 4 ? lanes<S> : 4;
template <class S>
inline constexpr std::size_t dot_columns = lanes<S> / dot_rows<S>;

/// The sum of the lanes of rows[i] in lane i. Halves of them are added at a time.
template <class V, std::size_t count>
[[gnu::always_inline]] inline V sums_of_lanes(const V (&rows)[count]) {
  if constexpr (count == 1) return rows[0];
  else {
    V halves[count / 2];
    for (std::size_t i = 0; i < count / 2; ++i)
      halves[i] = V(interleave_low(rows[i].native, rows[i + count / 2].native)) +
                  V(interleave_high(rows[i].native, rows[i + count / 2].native));
    return sums_of_lanes(halves);
  }
}

/// x, which the compiler does not read from memory again at each use.
template <class V>
[[gnu::always_inline]] inline V in_register(V x) {
#if defined(__x86_64__)
  asm("" : "+v"(x.native));
#endif
  return x;
}

/// sums[i · across + j] += row[i] · column[j]
template <class V, std::size_t down, std::size_t across, std::size_t... K>
[[gnu::always_inline]] inline void add_products(V (&sums)[down * across], const V (&row)[down],
                                                const V (&column)[across], std::index_sequence<K...>) {
  ((sums[K] = multiply_add(row[K / across], column[K % across], sums[K])), ...);
}

/// c[i][j] = Σ_p a[i][p] · b[j][p], or +=, for a tile of which `rows` and `columns` exist, each at least 1. What does not
/// exist repeats the last.
template <class S>
void dot_tile(std::size_t k, const S* a, const S* b, S* c, std::size_t c_stride, std::size_t rows, std::size_t columns,
              bool add) {
  using V = Vector<S>;
  constexpr std::size_t across = dot_columns<S>;
  V sums[lanes<S>] = {};
  [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>, std::index_sequence<J...>) {
    const S* const left[] = {a + (I < rows ? I : rows - 1) * k...};
    const S* const right[] = {b + (J < columns ? J : columns - 1) * k...};
    for_each_vector<S>(0, k, [&](std::size_t p, auto n) {
      const V row[] = {in_register(load<S>(left[I] + p, n))...}, column[] = {in_register(load<S>(right[J] + p, n))...};
      add_products(sums, row, column, std::make_index_sequence<lanes<S>>{});
    });
  }(std::make_index_sequence<dot_rows<S>>{}, std::make_index_sequence<across>{});
  S found[lanes<S>];
  store<S>(sums_of_lanes(sums), found);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      c[i * c_stride + j] = add ? c[i * c_stride + j] + found[i * across + j] : found[i * across + j];
}

/// c[i][j] = Σ_p a[i][p] · b[p][j], or +=, for Rows rows and Vectors vectors of columns, the last of which has `last` lanes.
template <std::size_t Rows, std::size_t Vectors, class S, class Last>
void row_tile(std::size_t depth, const S* a, std::size_t a_stride, const S* b, std::size_t b_stride, S* c, Last last,
              bool add) {
  using V = Vector<S>;
  const auto lanes_of = [&](auto j) {
    if constexpr (decltype(j)::value + 1 == Vectors) return last;
    else return Whole{};
  };
  V sums[Rows * Vectors] = {};
  [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>, std::index_sequence<J...>) {
    for (std::size_t p = 0; p < depth; ++p, ++a, b += b_stride) {
      const V row[] = {V(a[I * a_stride])...};
      const V column[] = {load<S>(b + J * lanes<S>, lanes_of(std::integral_constant<std::size_t, J>{}))...};
      add_products(sums, row, column, std::make_index_sequence<Rows * Vectors>{});
    }
  }(std::make_index_sequence<Rows>{}, std::make_index_sequence<Vectors>{});
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    const auto out = [&](V value, S* at, auto n) { store<S>(add ? load<S>(at, n) + value : value, at, n); };
    (out(sums[K], c + K / Vectors * b_stride + K % Vectors * lanes<S>,
         lanes_of(std::integral_constant<std::size_t, K % Vectors>{})),
     ...);
  }(std::make_index_sequence<Rows * Vectors>{});
}

/// row_tile for any number of rows.
template <std::size_t Vectors, class S, class Last>
void row_panel(std::size_t rows, std::size_t depth, const S* a, std::size_t a_stride, const S* b, std::size_t n, S* c,
               Last last, bool add) {
  constexpr std::size_t most = block_rows / 3 * 2;
  std::size_t i = 0;
  const auto tiles = [&]<std::size_t Rows>() {
    for (; i + Rows <= rows; i += Rows)
      row_tile<Rows, Vectors>(depth, a + i * a_stride, a_stride, b, n, c + i * n, last, add);
  };
  tiles.template operator()<most>();
  tiles.template operator()<most / 2>();
  tiles.template operator()<1>();
}

/// Some columns of c = a · b, or c +=: a few rows of b at a time, which are read one behind the other.
template <class S>
void row_columns(std::size_t m, std::size_t columns, std::size_t k, const S* a, const S* b, std::size_t n, S* c,
                 bool add) {
  constexpr std::size_t slice = 128, step = 2 * lanes<S>;
  for (std::size_t p = 0; p < k; p += slice) {
    const std::size_t depth = k - p < slice ? k - p : slice;
    const S* const rows = b + p * n;
    const bool adds = add || p > 0;
    std::size_t j = 0;
    for (; j + step <= columns; j += step) row_panel<2>(m, depth, a + p, k, rows + j, n, c + j, Whole{}, adds);
    if (j + lanes<S> < columns) row_panel<2>(m, depth, a + p, k, rows + j, n, c + j, columns - j - lanes<S>, adds);
    else if (j < columns) row_panel<1>(m, depth, a + p, k, rows + j, n, c + j, columns - j, adds);
  }
}

}  // namespace detail

/// Whether b stays in a core's own caches from one product to the next. Beyond, those who copy b into panels read it from
/// afar in the order that pays (widths of 650 and 1500, Zen 4).
template <class S>
constexpr bool stays_near(std::size_t n, std::size_t k) {
  return n * k * sizeof(S) <= std::size_t{2} << 20;
}

/// c = a · b, or a · bᵀ, or c +=, as op::Product describes, in S throughout
///
/// error    a · bᵀ: each element in `lanes` partial sums, which are added in pairs; a · b: sums of 128 terms, one behind
///          the other. A function of k alone: a row has the same bits however many others there are
/// cost     no copy. At (16,256) by (256,1024) 96 and 111 Gflop/s where OpenBLAS, which copies b each time, has 66 and 82
///          (one thread of an AMD Zen 4, clang 19)
template <class S>
void series_product(const S* a, const S* b, S* c, std::size_t m, std::size_t n, std::size_t k, bool transpose_b,
                    bool add) {
  using namespace detail;
  const std::size_t step = transpose_b ? dot_columns<S> : 2 * lanes<S>, panels = (n + step - 1) / step;
  const std::size_t chunks = (std::min)(panels, (m * n * k >> 19) + 1);  // of some 10 µs
  parallel_for(chunks, [&](std::size_t chunk) {
    const std::size_t begin = part_begin(panels, chunks, chunk) * step,
                      end = (std::min)(n, part_begin(panels, chunks, chunk + 1) * step);
    if (!transpose_b) return row_columns(m, end - begin, k, a, b + begin, n, c + begin, add);
    for (std::size_t j = begin; j < end; j += step)
      for (std::size_t i = 0; i < m; i += dot_rows<S>)
        dot_tile(k, a + i * k, b + j * k, c + i * n + j, n, (std::min)(dot_rows<S>, m - i), (std::min)(step, end - j),
                 add);
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
