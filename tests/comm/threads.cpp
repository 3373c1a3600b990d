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
