// regimen/engine/cpu/sweep.hpp — loops over rows, elements and sums, and the least work for another core.
#pragma once

#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/cpu/simd.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace regimen::cpu {

/// The number of elements that keeps one core busy for as long as waking the others takes.
inline constexpr std::size_t grain = 32768;

/// The most chunks of a full sum: their partial results lie on the caller's stack.
inline constexpr std::size_t most_partials = 64;

constexpr std::size_t chunks_of(std::size_t elements) { return (elements + grain - 1) / grain; }

/// body(0) ... body(chunks - 1), on several cores if `elements` is large enough.
template <class Body>
void for_chunks(std::size_t elements, std::size_t chunks, const Body& body) {
  const auto all = [](const void* what, std::size_t chunk) { (*static_cast<const Body*>(what))(chunk); };
  if (elements > grain) return detail::for_all(chunks, all, &body);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) all(&body, chunk);
}

/// body(i, count) over all elements, a register at a time; see for_each_vector.
template <class S, class Body>
void sweep(std::size_t elements, const Body& body) {
  const std::size_t chunks = chunks_of(elements);
  parallel_for(chunks, [&](std::size_t chunk) {
    for_each_vector<S>(part_begin(elements, chunks, chunk), part_begin(elements, chunks, chunk + 1), body);
  });
}

/// y = function(a, b), element by element.
template <class T, class Function>
void combine(std::size_t elements, const T* a, const T* b, T* y, const Function& function) {
  using S = statistic_t<T>;
  sweep<S>(elements, [&](std::size_t i, auto n) { store(function(load<S>(a + i, n), load<S>(b + i, n)), y + i, n); });
}

/// body(row, begin, end): runs of columns that together cover rows x columns; whole rows unless a row is very long.
///   work   of an element, in those of a sum
template <class Body>
void for_rows(std::size_t rows, std::size_t columns, const Body& body, std::size_t work = 1) {
  const std::size_t parts = columns > grain ? chunks_of(columns) : 1,
                    wanted = parts > 1 ? rows : chunks_of(rows * columns * work);
  const std::size_t chunks = wanted < rows ? wanted : rows;  // of rows, each in so many parts
  parallel_for(chunks * parts, [&](std::size_t chunk) {
    const std::size_t part = chunk % parts, end = part_begin(rows, chunks, chunk / parts + 1);
    const std::size_t from = part_begin(columns, parts, part), to = part_begin(columns, parts, part + 1);
    for (std::size_t row = part_begin(rows, chunks, chunk / parts); row < end; ++row) body(row, from, to);
  });
}

/// body(i, place, count) for the registers of rows x columns: column i of a row, which is element `place` if rows lie
/// `leading` elements apart.
template <class S, class Body>
void sweep_rows(std::size_t rows, std::size_t columns, std::size_t leading, const Body& body) {
  for_rows(rows, columns, [&](std::size_t row, std::size_t begin, std::size_t end) {
    const std::size_t first = row * leading;
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) { body(i, first + i, n); });
  });
}

/// body(i) for `count` things of so many elements each.
template <class Body>
void for_each_of(std::size_t count, std::size_t elements, const Body& body) {
  const std::size_t chunks = (std::min)(chunks_of(count * elements), count);
  parallel_for(chunks, [&](std::size_t chunk) {
    const std::size_t end = part_begin(count, chunks, chunk + 1);
    for (std::size_t i = part_begin(count, chunks, chunk); i < end; ++i) body(i);
  });
}

/// to[i] = Σ of from[i], from[i + apart], ... of `terms`, in this order; or += if `add`.
template <class S, class G>
void sum_terms(const S* from, std::size_t terms, std::size_t apart, G* to, std::size_t count, bool add) {
  sweep<S>(count, [&](std::size_t i, auto n) {
    Vector<S> sum = load<S>(from + i, n);
    for (std::size_t term = 1; term < terms; ++term) sum += load<S>(from + term * apart + i, n);
    store(add ? load<S>(to + i, n) + sum : sum, to + i, n);
  });
}

/// The largest of `count` numbers. A NaN may be left out.
template <class T, class S = statistic_t<T>>
S largest_of(const T* from, std::size_t count) {
  Vector<S> most = -std::numeric_limits<S>::infinity();
  std::size_t i = 0;
  for (; i + lanes<S> <= count; i += lanes<S>) most = max(most, load<S>(from + i));
  S largest = maximum(most);
  for (; i < count; ++i) largest = static_cast<S>(from[i]) > largest ? static_cast<S>(from[i]) : largest;
  return largest;
}

/// Σ of term(i, count) over the elements below `count`, all in one order: four interleaved sums, then their lanes.
/// A term of a short register must be 0 in the lanes beyond its count; see zero_tail.
template <class S, class Term>
[[gnu::always_inline]] inline S sum_of(std::size_t count, const Term& term) {
  Vector<S> sums[4] = {S(0), S(0), S(0), S(0)};
  std::size_t i = 0;
  for (; i + 4 * lanes<S> <= count; i += 4 * lanes<S>) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += term(i + k * lanes<S>, Whole{});
  }
  for_each_vector<S>(i, count, [&](std::size_t j, auto n) { sums[0] += term(j, n); });
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class T, class S = statistic_t<T>>
S dot(const T* a, const T* b, std::size_t count) {  // beyond a short register both are 0
  return sum_of<S>(count, [&](std::size_t i, auto n) { return load<S>(a + i, n) * load<S>(b + i, n); });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
