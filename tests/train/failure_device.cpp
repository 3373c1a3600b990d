// Ranks that are threads and share a device: one throws or sleeps. The others end in time, and name it.
#include <regimen/engine/emulated/device.hpp>

#include "train/failing_threads.hpp"

#include <cstdint>

using namespace regimen;
using namespace regimen::test;

namespace {

using Train = Trainer<Tied<1>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>, Device<Emulated>>;
constexpr std::size_t room = std::size_t{256} << 20;

}  // namespace

TEST_CASE("an exception on any rank of a device that is shared ends all at once, and the run goes on from its file") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    emulated::Runtime::defaults = {.seed = seed, .memory = room};
    exceptions_end_all<Train>();
  }
  emulated::Runtime::defaults = {};
}

TEST_CASE("a rank that sleeps is named to those that share its device, and the run goes on from its file") {
  emulated::Runtime::defaults = {.seed = 3, .memory = room};
  sleeps_end_all<Train>();
  emulated::Runtime::defaults = {};
}
// SPDX-License-Identifier: Apache-2.0
