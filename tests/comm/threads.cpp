// Threads: conformance.
#include <regimen/comm/launch.hpp>
#include <regimen/comm/launch_processes.hpp>
#include <regimen/comm/solo.hpp>
#include <regimen/core/threads.hpp>

#include "comm/conformance.hpp"
#include "comm/wrappers.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

using regimen::comm::Threads;

namespace {

template <class C>
void all(C& ranks) {
  conformance::conform(ranks, 100);
  conformance::in_background(ranks);
  conformance::counts(ranks);
}

}  // namespace

TEST_CASE("one rank conforms") {
  regimen::comm::Solo solo;
  CHECK_NOTHROW(all(solo));
}

TEST_CASE("threads conform") {
  for (const std::size_t ranks : conformance::worlds) {
    INFO(ranks << " ranks");
    CHECK_NOTHROW(regimen::launch(ranks, all<Threads>, std::chrono::seconds(60)));
  }
}

TEST_CASE("a collective in the background runs while its rank computes, and the trace shows it") {
  using Clock = std::chrono::steady_clock;
  CHECK_NOTHROW(regimen::launch(2, [](Threads& ranks) {
    regimen::comm::Tracing<Threads> traced(ranks);
    regimen::comm::Background<regimen::comm::Tracing<Threads>> behind(traced);
    const double values[2] = {1, 1};
    double value = 0;
    const Clock::time_point begin = Clock::now();
    const regimen::PendingCollective sum = behind.reduce_scatter(values, &value, 1, nullptr);
    // "Computes" until the trace has it; only a worker can have put it there.
    while (traced.seen() == 0 && Clock::now() - begin < std::chrono::seconds(20)) std::this_thread::yield();
    const Clock::time_point end = Clock::now();
    sum.wait();
    const auto spans = traced.spans();
    if (spans.size() != 1 || spans[0].begin < begin || spans[0].end > end || value != 2)
      throw std::runtime_error("no overlap");
  }));
}

TEST_CASE("ranks that wait for ever wait") {
  CHECK_NOTHROW(regimen::launch(
      2,
      [](Threads& ranks) {
        if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ranks.barrier();
      },
      (regimen::comm::Deadline::max)()));
}
namespace {

std::string error_of_launch(regimen::comm::Deadline deadline) {
  try {
    regimen::launch(2, [](Threads& ranks) { ranks.barrier(); }, deadline);
  } catch (const regimen::Error& error) { return error.what(); }
  return {};
}

}  // namespace

TEST_CASE("a deadline that is not above zero is refused") {
  using regimen::comm::Deadline;
  CHECK(error_of_launch(Deadline(0)).find("the deadline of the ranks: expected more than 0 ms, found 0 ms; ") == 0);
  CHECK(error_of_launch((Deadline::min)()).find("the deadline of the ranks: expected more than 0 ms, found -") == 0);
  CHECK_THROWS_AS(
      regimen::launch_processes(2, [](regimen::comm::Tcp& ranks) { ranks.barrier(); }, Deadline(0)), regimen::Error);
}

TEST_CASE("ranks share the processors, unless OMP_NUM_THREADS says how many threads each has") {
  const char* const set = std::getenv("OMP_NUM_THREADS");
  const std::string before = set == nullptr ? "" : set;
  for (const bool said : {false, true}) {
    if (said) ::setenv("OMP_NUM_THREADS", "5", 1);
    else ::unsetenv("OMP_NUM_THREADS");
    const int expected = said ? 5 : std::max(1, regimen::processor_count() / 2);
    const auto check = [&](auto&) {
      if (regimen::thread_count() != expected)
        throw std::runtime_error(std::to_string(regimen::thread_count()) + " threads");
    };
    CHECK_NOTHROW(regimen::launch(2, check));
    CHECK_NOTHROW(regimen::launch_processes(2, check));
  }
  if (set == nullptr) ::unsetenv("OMP_NUM_THREADS");
  else ::setenv("OMP_NUM_THREADS", before.c_str(), 1);
}

TEST_CASE("a program that a launcher started as one of several makes no ranks of its own") {
  REQUIRE(::setenv("RANK", "1", 1) == 0);
  REQUIRE(::setenv("WORLD_SIZE", "2", 1) == 0);
  REQUIRE(::setenv("MASTER_ADDR", "127.0.0.1", 1) == 0);
  REQUIRE(::setenv("MASTER_PORT", "23456", 1) == 0);
  const std::string text = error_of_launch(std::chrono::seconds(60));
  CHECK_THROWS_AS(regimen::launch_processes(2, [](regimen::comm::Tcp&) {}), regimen::Error);
  for (const char* const name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) ::unsetenv(name);
  INFO(text);
  CHECK(text.find("torchrun made it rank 1 of 2; choose Communicator<Tcp> without launch, or start") !=
        std::string::npos);
}
