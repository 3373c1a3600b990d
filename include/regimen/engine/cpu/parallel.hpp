// regimen/engine/cpu/parallel.hpp — the one way a CPU loop uses several cores.
#pragma once

#include <cstddef>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace regimen::cpu {

/// body(0) ... body(chunks - 1), in any order, on all cores. Callers cut work into chunks by shape alone, never by the
/// number of threads, and no chunk reads what another writes: results do not depend on how many threads there are.
/// Inside another parallel_for, and without OpenMP, it is a plain loop.
template <class Body>
void parallel_for(std::size_t chunks, const Body& body) {
#if defined(_OPENMP)
  if (chunks > 1 && !omp_in_parallel()) {
    const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(chunks);
#pragma omp parallel for schedule(static)
    for (std::ptrdiff_t chunk = 0; chunk < end; ++chunk) body(static_cast<std::size_t>(chunk));
    return;
  }
#endif
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
}

/// The begin of part `part` when `count` things are cut into `parts` nearly equal pieces.
constexpr std::size_t part_begin(std::size_t count, std::size_t parts, std::size_t part) {
  return count / parts * part + (part < count % parts ? part : count % parts);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
