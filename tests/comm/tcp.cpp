// Tcp: conformance, in threads and in processes.
// compiled with -fopenmp
#include <regimen/comm/launch_processes.hpp>

#include "comm/conformance.hpp"
#include "comm/wrappers.hpp"
#include "support/catch.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <chrono>
#include <thread>

using regimen::comm::Tcp;

namespace {

template <class C>
void all(C& ranks) {
  conformance::conform(ranks, 100);
  conformance::in_background(ranks);
  conformance::counts(ranks);
}

}  // namespace

TEST_CASE("processes conform") {
  for (const std::size_t ranks : conformance::worlds) {
    INFO(ranks << " ranks");
    CHECK_NOTHROW(regimen::launch_processes(ranks, all<Tcp>, std::chrono::seconds(60)));
  }
}

#if defined(_OPENMP)
namespace {
int threads_of_a_team(int asked) {
  int count = 0;
#pragma omp parallel num_threads(asked)
#pragma omp single
  count = omp_get_num_threads();
  return count;
}
}  // namespace

TEST_CASE("processes may be started after OpenMP was used, and use it") {
  omp_set_dynamic(0);
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  CHECK(threads_of_a_team(3) == 3);
  CHECK_NOTHROW(regimen::launch_processes(
      2,
      [](Tcp& ranks) {
        ::alarm(60);  // who waits for threads that are not there waits without end
        if (threads_of_a_team(3) != 3) throw std::runtime_error("another team than was asked for");
        if (omp_get_max_threads() != 3)
          throw std::runtime_error("another number of threads than the one that started this");
        ranks.barrier();
      },
      std::chrono::seconds(60)));
  omp_set_num_threads(before);
}
#endif

TEST_CASE("ranks that wait for ever wait") {
  CHECK_NOTHROW(regimen::launch_processes(
      2,
      [](Tcp& ranks) {
        if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ranks.barrier();
      },
      (regimen::comm::Deadline::max)()));
}
