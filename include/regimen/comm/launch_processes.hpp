// regimen/comm/launch_processes.hpp — runs a function in n processes of this machine, each of them a rank.
#pragma once

#include <regimen/comm/detail/child.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/comm/tcp.hpp>
#include <regimen/core/compiled.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace regimen {

namespace comm::detail {
/// Does launch_processes' work.   run   on_new_thread(ranks)
void run_processes(std::size_t ranks, const std::function<void(Tcp&)>& f, const Run& run, Deadline deadline,
                   std::uint64_t fingerprint);
}  // namespace comm::detail

/// f(communicator) in `ranks` processes of this machine, which share its processors as the ranks of launch do. Each has
/// its own comm::Tcp over loopback, at a free port, with a secret that only they know. This process may have used
/// OpenMP before, also through BLAS. A child has none of this process's other threads; locks that they held stay locked
/// in the child.
///
///   regimen::launch_processes(4, [](regimen::comm::Tcp& ranks) { ... });
///
/// failure  waits for all ranks, then throws Error with the reason of each rank that failed: its exception, or the
///          signal that ended it. Ranks that do not end within the deadline (at least 10 s) after the first failure are
///          killed. If this process is killed, its ranks are killed, too
template <class F>
void launch_processes(std::size_t ranks, const F& f, comm::Deadline deadline = comm::default_deadline,
                      std::uint64_t fingerprint = 0) {
  comm::detail::run_processes(
      ranks, [&f](comm::Tcp& communicator) { f(communicator); }, comm::detail::on_new_thread(ranks), deadline,
      fingerprint);
}

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/comm/launch_processes.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
