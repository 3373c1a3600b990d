// Ranks with a device each, which NCCL connects, in the middle of graphs: one throws or sleeps. The others abort their
// connections, and name it.
#include <regimen/engine/emulated/device.hpp>

#include "train/failing_threads.hpp"

#include <cstdint>

using namespace regimen;
using namespace regimen::test;

namespace {

using Train = Trainer<Tied<1>, Batch<2>, Communicator<Nccl>, Shard<ZeRO3>, Device<Emulated>>;
constexpr std::size_t room = std::size_t{64} << 20;

}  // namespace

TEST_CASE("an exception in any phase on any rank of a GPU ends all at once, and the run goes on from what was saved") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {  // with those of failure_device.cpp and of sleeps 120 failures
    CAPTURE(seed);
    emulated::Runtime::defaults = {.seed = seed, .memory = room};
    exceptions_end_all<Train>();
  }
  emulated::Runtime::defaults = {};
}

TEST_CASE("a rank of a GPU that sleeps is named when the deadlines are over, and the run goes on from what was saved") {
  emulated::Runtime::defaults = {.seed = 3, .memory = room, .patience = milliseconds(2000)};
  sleeps_end_all<Train>();
  emulated::Runtime::defaults = {};
}
