// Ranks that are threads and share a device: one throws or sleeps. The others end in time, and name it.
#include <regimen/engine/emulated/device.hpp>

#include "support/on_runtime.hpp"
#include "train/failing_threads.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

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

/// The rank that fails throws, or stops for longer than the deadline, before an operation that is captured.
struct FailsInCapture : emulated::Runtime {
  static inline thread_local std::size_t captured = 0, fails_at = 0;  // from 1; 0: never
  static inline bool sleeps = false;

  using Runtime::launch;
  template <class Kernel>
  void launch(const Kernel& kernel, cuda::Grid grid, Stream stream) {
    if (capture_of(stream) != 0 && ++captured == fails_at) {
      if (!sleeps) throw Error("a launch", "no failure", "one that is planted");
      std::this_thread::sleep_for(milliseconds(1500));
    }
    Runtime::launch(kernel, grid, stream);
  }
};

/// What each of three ranks says.
std::vector<std::string> said_of_capture(std::size_t culprit, std::size_t at, milliseconds deadline) {
  std::vector<std::string> said(failing_ranks);
  (void)::test::error_of([&] {
    launch(
        failing_ranks,
        [&](comm::Threads& world) {
          FailsInCapture::captured = 0;
          FailsInCapture::fails_at = world.rank() == culprit ? at : 0;
          try {
            Trainer<Tied<1>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>, Device<OnRuntime<FailsInCapture>>> trainer(
                world);
            trainer.fit(Fake({.samples = 64, .classes = 11, .seed = 3}), {.steps = 4, .progress = false});
          } catch (const std::exception& error) {
            said[world.rank()] = error.what();
            throw;
          }
        },
        deadline);
  });
  return said;
}

}  // namespace

TEST_CASE("a rank that fails while ranks capture a graph of all ends the others, and is named") {
  for (std::size_t culprit = 0; culprit < failing_ranks; ++culprit)
    for (const std::size_t at : {1u, 2u, 7u, 20u}) {
      CAPTURE(culprit, at);
      emulated::Runtime::defaults = {.seed = at, .memory = room};
      FailsInCapture::sleeps = false;
      const auto start = std::chrono::steady_clock::now();
      const std::vector<std::string> said = said_of_capture(culprit, at, milliseconds(20000));
      CHECK(std::chrono::steady_clock::now() - start < milliseconds(10000));  // not by the deadline
      for (std::size_t rank = 0; rank < failing_ranks; ++rank) {
        INFO("rank " << rank << ": " << said[rank]);
        CHECK(::test::says(said[rank], "one that is planted"));
        if (rank != culprit) CHECK(::test::says(said[rank], "rank " + std::to_string(culprit) + " failed: "));
      }
    }
  for (std::size_t culprit = 0; culprit < failing_ranks; ++culprit) {
    CAPTURE(culprit);
    emulated::Runtime::defaults = {.seed = culprit, .memory = room};
    FailsInCapture::sleeps = true;
    for (const std::string& each : said_of_capture(culprit, 5, milliseconds(500))) {
      INFO(each);
      CHECK(::test::says(each, "no sign of rank " + std::to_string(culprit) + " within 500 ms"));
    }
  }
  CHECK(said_of_capture(0, 0, milliseconds(20000)) == std::vector<std::string>(failing_ranks));
  emulated::Runtime::defaults = {};
}

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
