// Ranks that are threads on the CPU: one throws or sleeps.
#include "train/failing_threads.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

using Train = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>>;

}  // namespace

TEST_CASE("an exception in any phase on any rank ends all threads at once, and the run goes on from what was saved") {
  exceptions_end_all<Train>();
}

TEST_CASE(
    "a thread that sleeps in any phase is named when the deadline is over, and the run goes on from what was saved") {
  sleeps_end_all<Train>();
}
