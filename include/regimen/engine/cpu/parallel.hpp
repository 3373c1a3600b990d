// regimen/engine/cpu/parallel.hpp — parallel_for: the only way in which a CPU loop uses several cores.
#pragma once

#include <regimen/core/threads.hpp>
#include <regimen/engine/cpu/part.hpp>
#include <regimen/engine/cpu/team.hpp>

#include <cstddef>

namespace regimen::cpu {

namespace detail {
/// The loop itself, which is the same for all bodies: each is compiled once.
[[gnu::noinline]] inline void for_all(std::size_t chunks, Team::Chunk chunk, const void* body) {
  const int count = chunks > 1 ? thread_count() : 1;
  if (count > 1)
    if (Team* const team = Team::here()) return team->run(chunks, count, chunk, body);
  for (std::size_t i = 0; i < chunks; ++i) chunk(body, i);
}
}  // namespace detail

/// body(0) ... body(chunks - 1), in any order, on as many threads as thread_count() says. Callers cut work into chunks by
/// shape alone, never by the number of threads, and no chunk reads what another writes. So results depend neither on
/// the number of threads nor on which thread took a chunk. Inside another parallel_for it is a serial loop.
///
/// failure  rethrows the exception of the lowest chunk that threw, after all others have run
template <class Body>
void parallel_for(std::size_t chunks, const Body& body) {
  detail::for_all(chunks, [](const void* what, std::size_t chunk) { (*static_cast<const Body*>(what))(chunk); }, &body);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
