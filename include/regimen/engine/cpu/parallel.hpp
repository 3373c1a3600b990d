// regimen/engine/cpu/parallel.hpp — parallel_for: the only way in which a CPU loop uses several cores.
#pragma once

#include <regimen/core/threads.hpp>
#include <regimen/engine/cpu/part.hpp>
#include <regimen/engine/cpu/team.hpp>

#include <cstddef>

namespace regimen::cpu {

/// body(0) ... body(chunks - 1), in any order, on as many threads as threads() says. Callers cut work into chunks by
/// shape alone, never by the number of threads, and no chunk reads what another writes. So results depend neither on
/// the number of threads nor on which thread took a chunk. Inside another parallel_for it is a serial loop.
///
/// failure  rethrows the exception of the lowest chunk that threw, after all others have run
template <class Body>
void parallel_for(std::size_t chunks, const Body& body) {
  const int count = chunks > 1 ? threads() : 1;
  if (count > 1)
    if (detail::Team* const team = detail::Team::here())
      return team->run(chunks, count, [](const void* what, std::size_t chunk) { (*static_cast<const Body*>(what))(chunk); }, &body);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
