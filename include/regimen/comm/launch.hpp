// regimen/comm/launch.hpp — runs a function on n threads, each of them a rank.
#pragma once

#include <regimen/comm/peer_error.hpp>
#include <regimen/comm/threads.hpp>
#include <regimen/core/compiled.hpp>

#include <cstddef>
#include <functional>

namespace regimen {

namespace comm::detail {
/// Does launch's work.
void run_threads(std::size_t ranks, const std::function<void(Threads&)>& f, Deadline deadline);
}  // namespace comm::detail

/// f(communicator) on `ranks` threads of this process, each with its own comm::Threads. Each rank computes with
/// OMP_NUM_THREADS threads, else with an equal share of the processors, at least one.
///
///   regimen::launch(4, [](regimen::comm::Threads& ranks) { ... ranks.reduce_scatter(...) ... });
///
/// failure  an exception of one rank ends the collectives of all ranks. When all have returned, launch throws
///          Error, which says which rank failed and why, and nests the exception (std::rethrow_if_nested). If a
///          rank does not return within the deadline (at least 10 s) after that, the process ends and names the
///          rank: a thread cannot be ended. Error if a launcher started this process as one of several
template <class F>
void launch(std::size_t ranks, const F& f, comm::Deadline deadline = comm::default_deadline) {
  comm::detail::run_threads(ranks, [&f](comm::Threads& communicator) { f(communicator); }, deadline);
}

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/comm/launch.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
