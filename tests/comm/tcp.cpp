// Tcp: conformance, in threads and in processes.
#include <regimen/comm/launch_processes.hpp>

#include "comm/conformance.hpp"
#include "comm/wrappers.hpp"
#include "support/catch.hpp"

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
