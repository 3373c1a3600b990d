// regimen/engine/cpu/sweep.hpp — loops over rows, elements and sums, and the least work for another core.
#pragma once

#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/cpu/simd.hpp>

#include <cstddef>

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

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
