// Ranks that are threads and share a device: one throws or sleeps. The others end in time, and name it.
#include <regimen/engine/emulated/device.hpp>

#include "support/on_runtime.hpp"
#include "train/failing_threads.hpp"

#include <cstdint>

using namespace regimen;
using namespace regimen::test;

namespace {

using Train = Trainer<Tied<1>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>, Device<Emulated>>;
constexpr std::size_t room = std::size_t{256} << 20;

/// Rank 2 stops for longer than the deadline before the first of three copies of a gather.
struct Stops : emulated::Runtime {
  static inline thread_local std::size_t copies = 0;
  static inline thread_local bool stops = false;

  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    if (stops && ++copies == 10) std::this_thread::sleep_for(milliseconds(1500));
    Runtime::copy(to, from, bytes, stream);
  }
};

}  // namespace

TEST_CASE("memory that a slow rank is about to read stays until it has, though the others have given it up") {
  emulated::Runtime::defaults = {.memory = room};
  std::string said[3];
  (void)::test::error_of([&] {
    launch(
        3,
        [&](comm::Threads& world) {
          Stops::stops = world.rank() == 2;
          said[world.rank()] = words_of([&] {
            Trainer<Tied<1>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>, Device<OnRuntime<Stops>>> trainer(world);
            trainer.fit(Fake({.samples = 64, .classes = 11, .seed = 3}), {.steps = 9, .progress = false});
          });
        },
        milliseconds(500));
  });
  for (const std::string& each : said) {
    INFO(each);
    CHECK(::test::says(each, "no sign of rank 2 within 500 ms"));
    CHECK(!::test::says(each, "was released"));
  }
  emulated::Runtime::defaults = {};
}

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
