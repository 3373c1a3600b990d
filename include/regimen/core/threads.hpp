// regimen/core/threads.hpp — how many threads the calling thread computes with.
#pragma once

#include <algorithm>
#include <cstddef>

#if defined(__linux__)
#endif

namespace regimen {

/// Processors that this process may run on, at least one.
int processor_count();

namespace detail {
/// A variable's number; 0 if it is not set, or no number above zero.
int number_above_zero(const char* text);

/// The rule of thread_count(), for a thread without a number of its own. `look` maps a variable's name to its value, or
/// to null. `ranks` are those of launch or launch_processes; 0: as torchrun or mpirun says. (srun gives each task
/// processors of its own.)
template <class Look>
int threads_from(const Look& look, std::size_t ranks, int available) {
  if (const int asked = number_above_zero(look("OMP_NUM_THREADS")); asked > 0) return asked;
  for (const char* const launched : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"})
    if (ranks == 0) ranks = static_cast<std::size_t>(number_above_zero(look(launched)));
  return (std::max)(1, static_cast<int>(static_cast<std::size_t>(available) / (std::max)(std::size_t{1}, ranks)));
}
int threads_of_environment(std::size_t ranks);

inline thread_local int threads_here = 0;  // of set_threads; 0: none
inline thread_local int share_here = 0;    // of share_processors; 0: none

}  // namespace detail

/// Sets the threads of loops and products that the calling thread starts from now on; 0: as thread_count() says without
/// it.
inline void set_threads(int count) { detail::threads_here = (std::max)(0, count); }

/// The calling thread is one of `ranks` ranks that share this machine's processors, and has no number of its own.
void share_processors(std::size_t ranks);

/// The number of threads that the calling thread computes with: that of set_threads, or of Options::threads while a
/// Trainer runs; else OMP_NUM_THREADS; else the processors that this process may run on, divided by the ranks on this
/// machine (launch, launch_processes, torchrun and mpirun say how many), at least one.
int thread_count();

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/core/threads.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
