// regimen/comm/detail/new_thread.hpp — the thread on which a forked child computes.
#pragma once

#include <regimen/core/compiled.hpp>

#include <cstddef>
#include <functional>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace regimen::comm::detail {

/// Runs a body on a new thread, as one of `ranks` processes that share the processors, and waits for it.
void run_on_new_thread(std::size_t ranks, const std::function<void()>& body);

/// Runs a body on a new thread of a forked child. OpenMP may have been used before the fork: then the child's copy of
/// the forking thread belongs to a team whose other threads do not exist, and GNU's runtime waits for them without end.
/// A new thread begins with a team of its own. OpenMP's regions get as many threads as on the thread that created this
/// object before the fork, since LLVM's runtime forgets their number in the child; the library's loops get the
/// share of one of `ranks` processes.
class NewThread final {
 public:
  void run(std::size_t ranks, const std::function<void()>& body) const {
    run_on_new_thread(ranks, [&] {
#if defined(_OPENMP)  // of the program: the compiled library knows nothing of it
      omp_set_num_threads(openmp_);
#endif
      body();
    });
  }

 private:
#if defined(_OPENMP)
  int openmp_ = omp_get_max_threads();
#endif
};

}  // namespace regimen::comm::detail

#if !REGIMEN_COMPILED
#include <regimen/comm/detail/new_thread.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
