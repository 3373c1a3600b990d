// regimen/engine/cpu/series_product.hpp — products with one b after another, as of the positions of a recurrent layer:
// b is read where it lies, since a copy would cost as much as the product of a few rows.
#pragma once

#include <regimen/engine/cpu/matrix_product.hpp>
#include <regimen/engine/cpu/parallel.hpp>
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
      halves[i] = V(interleave<false>(rows[i].native, rows[i + count / 2].native)) +
                  V(interleave<true>(rows[i].native, rows[i + count / 2].native));
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

/// A tile of a · bᵀ, with at least one row and one column; where there are fewer than a tile has, the last is repeated.
template <class S>
void dot_tile(const MatrixProduct<S>& o) {
  using V = Vector<S>;
  constexpr std::size_t across = dot_columns<S>;
  V sums[lanes<S>] = {};
  [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>, std::index_sequence<J...>) {
    const S* const left[] = {o.a + (I < o.m ? I : o.m - 1) * o.lda...};
    const S* const right[] = {o.b + (J < o.n ? J : o.n - 1) * o.ldb...};
    for_each_vector<S>(0, o.k, [&](std::size_t p, auto n) {
      const V row[] = {in_register(load<S>(left[I] + p, n))...}, column[] = {in_register(load<S>(right[J] + p, n))...};
      add_products(sums, row, column, std::make_index_sequence<lanes<S>>{});
    });
  }(std::make_index_sequence<dot_rows<S>>{}, std::make_index_sequence<across>{});
  S found[lanes<S>];
  store<S>(sums_of_lanes(sums), found);
  for (std::size_t i = 0; i < o.m; ++i)
    for (std::size_t j = 0; j < o.n; ++j) {
      S& c = o.c[i * o.ldc + j];
      c = o.add ? c + found[i * across + j] : found[i * across + j];
    }
}

/// A tile of a · b, of Rows rows and Vectors vectors of columns, the last of which has `last` lanes.
template <std::size_t Rows, std::size_t Vectors, class S, class Last>
void row_tile(const MatrixProduct<S>& o, Last last) {
  using V = Vector<S>;
  const S *a = o.a, *b = o.b;
  const auto lanes_of = [&](auto j) {
    if constexpr (decltype(j)::value + 1 == Vectors) return last;
    else return Whole{};
  };
  V sums[Rows * Vectors] = {};
  [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>, std::index_sequence<J...>) {
    for (std::size_t p = 0; p < o.k; ++p, ++a, b += o.ldb) {
      const V row[] = {V(a[I * o.lda])...};
      const V column[] = {load<S>(b + J * lanes<S>, lanes_of(std::integral_constant<std::size_t, J>{}))...};
      add_products(sums, row, column, std::make_index_sequence<Rows * Vectors>{});
    }
  }(std::make_index_sequence<Rows>{}, std::make_index_sequence<Vectors>{});
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    const auto out = [&](V value, S* at, auto n) { store<S>(o.add ? load<S>(at, n) + value : value, at, n); };
    (out(sums[K], o.c + K / Vectors * o.ldc + K % Vectors * lanes<S>,
         lanes_of(std::integral_constant<std::size_t, K % Vectors>{})),
     ...);
  }(std::make_index_sequence<Rows * Vectors>{});
}

/// row_tile for any number of rows.
template <std::size_t Vectors, class S, class Last>
void row_panel(const MatrixProduct<S>& o, Last last) {
  constexpr std::size_t most = block_rows / 3 * 2;
  std::size_t i = 0;
  const auto tiles = [&]<std::size_t Rows>() {
    for (; i + Rows <= o.m; i += Rows) row_tile<Rows, Vectors>(o.part(i, 0, Rows, o.n), last);
  };
  tiles.template operator()<most>();
  tiles.template operator()<most / 2>();
  tiles.template operator()<1>();
}

/// a · b: a few rows of b at a time, which are read one behind the other.
template <class S>
void row_columns(const MatrixProduct<S>& o) {
  constexpr std::size_t slice = 128, step = 2 * lanes<S>;
  for (std::size_t p = 0; p < o.k; p += slice) {
    const MatrixProduct<S> rows = o.terms(p, o.k - p < slice ? o.k - p : slice);
    const auto panel = [&](std::size_t j) { return rows.part(0, j, o.m, o.n - j); };
    std::size_t j = 0;
    for (; j + step <= o.n; j += step) row_panel<2>(panel(j), Whole{});
    if (j + lanes<S> < o.n) row_panel<2>(panel(j), o.n - j - lanes<S>);
    else if (j < o.n) row_panel<1>(panel(j), o.n - j);
  }
}

}  // namespace detail

/// Whether b stays in a core's own caches from one product to the next. Beyond, those who copy b into panels read it
/// from afar in the order that pays (widths of 650 and 1500, Zen 4).
template <class S>
constexpr bool stays_near(std::size_t n, std::size_t k) {
  return n * k * sizeof(S) <= std::size_t{2} << 20;
}

/// The product, of an a that is not transposed, in S throughout
///
/// error    a · bᵀ: each element in `lanes` partial sums, which are added in pairs; a · b: sums of 128 terms, one
///          behind the other. A function of k alone: a row has the same bits however many others there are
/// cost     no copy. At (16,256) by (256,1024) 96 and 111 Gflop/s where OpenBLAS, which copies b each time, has 66 and
///          82 (one thread of an AMD Zen 4, clang 19)
template <class S>
void series_product(const MatrixProduct<S>& o) {
  using namespace detail;
  const std::size_t step = o.transpose_b ? dot_columns<S> : 2 * lanes<S>, panels = (o.n + step - 1) / step;
  const std::size_t chunks = (std::min)(panels, (o.m * o.n * o.k >> 19) + 1);  // of some 10 µs
  parallel_for(chunks, [&](std::size_t chunk) {
    const std::size_t begin = part_begin(panels, chunks, chunk) * step,
                      end = (std::min)(o.n, part_begin(panels, chunks, chunk + 1) * step);
    if (!o.transpose_b) return row_columns(o.part(0, begin, o.m, end - begin));
    for (std::size_t j = begin; j < end; j += step)
      for (std::size_t i = 0; i < o.m; i += dot_rows<S>)
        dot_tile(o.part(i, j, (std::min)(dot_rows<S>, o.m - i), (std::min)(step, end - j)));
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
