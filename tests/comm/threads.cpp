// Threads: conformance.
#include <regimen/comm/launch.hpp>
#include <regimen/comm/solo.hpp>

#include "comm/conformance.hpp"
#include "support/catch.hpp"

using regimen::comm::Threads;

TEST_CASE("one rank conforms") {
  regimen::comm::Solo solo;
  CHECK_NOTHROW(conformance::conform(solo));
}

TEST_CASE("threads conform") {
  for (const std::size_t ranks : conformance::worlds) {
    INFO(ranks << " ranks");
    CHECK_NOTHROW(regimen::launch(ranks, [](Threads& world) { conformance::conform(world, 100); }, std::chrono::seconds(60)));
  }
}
