// tests/engine/cpu/parallel.cpp — loops on several threads: every chunk once, whoever takes it, and nobody waits in
// vain.
// compiled with -fopenmp
#include <regimen/engine/cpu/machine.hpp>
#include <regimen/engine/cpu/parallel.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
/// A forked process has what OpenMP keeps for each thread, and has not the threads: no leak of ours.
extern "C" const char* __lsan_default_suppressions() { return "leak:libgomp"; }
#endif

namespace {

using namespace regimen;

/// So many threads of loops that this thread begins, until the end of the scope.
struct Threads final {
  explicit Threads(int count) { set_threads(count); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { set_threads(before); }

  int before = thread_count();
};

/// Waits, ten seconds at most.
template <class Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_CASE("every chunk runs once, for any numbers of chunks and threads") {
  for (const int count : {1, 2, 3, 8}) {
    const Threads scope(count);
    for (int round = 0; round < 200; ++round) {
      const std::size_t chunks = static_cast<std::size_t>(round) % 23;
      std::vector<std::atomic<int>> runs(chunks);
      cpu::parallel_for(chunks, [&](std::size_t chunk) { runs[chunk].fetch_add(1); });
      for (const std::atomic<int>& times : runs) REQUIRE(times.load() == 1);
    }
  }
}

TEST_CASE("chunks are taken, not assigned: whoever is kept from running keeps one chunk, and the others do the rest") {
  const Threads scope(2);
  std::atomic<int> done{0};
  bool others_ran = false;
  cpu::parallel_for(9, [&](std::size_t chunk) {
    if (chunk == 0) others_ran = comes_true([&] { return done.load() == 8; });
    else done.fetch_add(1);
  });
  CHECK(others_ran);
}

TEST_CASE("a loop within a loop is a plain one") {
  const Threads scope(4);
  std::atomic<int> elsewhere{0}, runs{0};
  cpu::parallel_for(8, [&](std::size_t) {
    const std::thread::id here = std::this_thread::get_id();
    cpu::parallel_for(8, [&](std::size_t) {
      runs.fetch_add(1);
      if (std::this_thread::get_id() != here) elsewhere.fetch_add(1);
    });
  });
  CHECK(runs.load() == 64);
  CHECK(elsewhere.load() == 0);
}

TEST_CASE("of several chunks that throw the first is heard, after all have run; the next loop knows nothing of it") {
  const Threads scope(3);
  std::atomic<int> runs{0};
  std::string said;
  try {
    cpu::parallel_for(50, [&](std::size_t chunk) {
      runs.fetch_add(1);
      if (chunk % 10 == 7) throw std::runtime_error("chunk " + std::to_string(chunk));
    });
  } catch (const std::runtime_error& error) { said = error.what(); }
  CHECK(said == "chunk 7");
  CHECK(runs.load() == 50);
  CHECK_NOTHROW(cpu::parallel_for(50, [&](std::size_t) { runs.fetch_add(1); }));
  CHECK(runs.load() == 100);
}

/// Of this process.
std::ptrdiff_t running_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST_CASE("several threads have loops of their own at the same time, and helpers end with them") {
  const std::ptrdiff_t before = running_threads();
  std::atomic<int> runs{0}, helped{0};
  std::vector<std::thread> owners;
  for (int owner = 0; owner < 4; ++owner)
    owners.emplace_back([&] {
      const Threads scope(2);
      for (int round = 0; round < 100; ++round) cpu::parallel_for(5, [&](std::size_t) { runs.fetch_add(1); });
      if (running_threads() >= before + 2) helped.fetch_add(1);  // this one, and its helper
    });
  for (std::thread& owner : owners) owner.join();
  CHECK(runs.load() == 2000);
  CHECK(helped.load() == 4);
  CHECK(comes_true(
      [&] { return running_threads() == before; }));  // a thread that was joined may stay in the list for a moment
}

#if !defined(__SANITIZE_THREAD__)  // which lets no thread start in a process that was forked
TEST_CASE("a process that was forked has helpers of its own, and ends") {
  const Threads scope(2);
  const auto loop_uses_two = [] {
    std::atomic<int> done{0};
    bool others_ran = false;
    cpu::parallel_for(3, [&](std::size_t chunk) {
      if (chunk == 0) others_ran = comes_true([&] { return done.load() == 2; });
      else done.fetch_add(1);
    });
    return others_ran;
  };
  REQUIRE(loop_uses_two());
  for (const bool uses_them : {true, false}) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);                     // who waits for threads that are not there waits without end
      if (!uses_them) std::exit(0);  // ends the first thread, with what was the parent's
      std::_Exit(loop_uses_two() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}
#endif

TEST_CASE(
    "the environment says how many threads there are, the calling thread may say otherwise, and for itself alone") {
  const int before = thread_count();
  CHECK(before >= 1);
  const Threads scope(before + 3);
  CHECK(thread_count() == before + 3);
  int other = 0;
  std::thread([&] { other = thread_count(); }).join();
  CHECK(other == before);
  set_threads(0);  // as the environment says
  CHECK(thread_count() == before);
  {
    const cpu::ThreadScope inner(before + 2);
    CHECK(thread_count() == before + 2);
  }
  set_threads(0);
  CHECK(regimen::detail::threads_here == 0);
  { const cpu::ThreadScope inner(before + 2); }
  CHECK(regimen::detail::threads_here == 0);  // a scope leaves no number behind
}

TEST_CASE("OMP_NUM_THREADS comes before the processors, which the ranks of a machine share") {
  const auto threads_with = [](const char* variable, const char* value, std::size_t ranks) {
    return regimen::detail::threads_from(
        [&](const char* name) { return std::string(name) == variable ? value : nullptr; }, ranks, 12);
  };
  CHECK(threads_with("", "", 0) == 12);
  CHECK(threads_with("OMP_NUM_THREADS", "3", 0) == 3);
  CHECK(threads_with("OMP_NUM_THREADS", "5,2", 0) == 5);
  CHECK(threads_with("OMP_NUM_THREADS", "3", 2) == 3);
  CHECK(threads_with("OMP_NUM_THREADS", "0", 0) == 12);
  CHECK(threads_with("LOCAL_WORLD_SIZE", "4", 0) == 3);
  CHECK(threads_with("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 0) == 6);
  CHECK(threads_with("LOCAL_WORLD_SIZE", "4", 2) == 6);  // launch knows its ranks
  CHECK(threads_with("", "", 1000000) == 1);

  std::thread([] {
    set_threads(7);
    regimen::share_processors(1000000);
    const int shared = thread_count();
    set_threads(9);
    set_threads(0);
    if (shared != thread_count()) std::abort();
  }).join();
}

#if defined(_OPENMP)
TEST_CASE("libraries over OpenMP get one thread where loops call them; the caller's own number stays") {
  const Threads scope(3);
  omp_set_num_threads(5);
  {
    const cpu::SingleThread library;
    CHECK(omp_get_max_threads() == 1);
    std::atomic<int> most{0};
    cpu::parallel_for(64, [&](std::size_t) {
      if (omp_get_max_threads() > most.load()) most.store(omp_get_max_threads());
    });
    CHECK(most.load() == 1);
  }
  CHECK(omp_get_max_threads() == 5);
}

TEST_CASE("on each of several threads of an OpenMP region a loop is a plain one") {
  const Threads scope(4);
  std::atomic<int> elsewhere{0};
#pragma omp parallel num_threads(2)
  {
    const std::thread::id here = std::this_thread::get_id();
    cpu::parallel_for(64, [&](std::size_t) {
      if (std::this_thread::get_id() != here) elsewhere.fetch_add(1);
    });
  }
  CHECK(elsewhere.load() == 0);
}
#endif

}  // namespace
// SPDX-License-Identifier: Apache-2.0
