// Tcp: conformance, in threads and in processes.
#include <regimen/comm/launch_processes.hpp>

#include "comm/conformance.hpp"
#include "support/catch.hpp"

using regimen::comm::Tcp;

TEST_CASE("processes conform") {
  for (const std::size_t ranks : conformance::worlds) {
    INFO(ranks << " ranks");
    CHECK_NOTHROW(regimen::launch_processes(ranks, [](Tcp& world) { conformance::conform(world, 100); }, std::chrono::seconds(60)));
  }
}
