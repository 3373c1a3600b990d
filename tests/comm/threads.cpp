// Threads: conformance.
#include <regimen/comm/launch.hpp>
#include <regimen/comm/solo.hpp>

#include "comm/conformance.hpp"
#include "comm/wrappers.hpp"
#include "support/catch.hpp"

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
    const regimen::Pending sum = behind.reduce_scatter(values, &value, 1, nullptr);
    // "Computes" until the trace has it; only a worker can have put it there.
    while (traced.seen() == 0 && Clock::now() - begin < std::chrono::seconds(20)) std::this_thread::yield();
    const Clock::time_point end = Clock::now();
    sum.wait();
    const auto spans = traced.spans();
    if (spans.size() != 1 || spans[0].begin < begin || spans[0].end > end || value != 2) throw std::runtime_error("no overlap");
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
