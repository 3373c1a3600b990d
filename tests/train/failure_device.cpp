// Ranks that are threads and share a device: one throws or sleeps. The others end in time, and name it.
#include <regimen/engine/emulated/device.hpp>

#include "support/on_runtime.hpp"
#include "train/failing_threads.hpp"

#include <atomic>
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

/// The rank that fails throws, or stops for longer than the deadline, before a launch, a copy or a sum of ranks that is
/// captured.
struct FailsInCapture : emulated::Runtime {
  enum class At : unsigned char { launch, copy, sum };
  static inline thread_local std::size_t passed = 0, fails_at = 0;  // from 1; 0: never
  static inline At at = At::launch;
  static inline bool sleeps = false;
  static inline std::atomic<int> open = 0;  // captures that are not ended
  static inline std::atomic<std::size_t> failures = 0;

  void begin_capture(Stream stream) {
    Runtime::begin_capture(stream);
    ++open;
  }
  Graph end_capture(Stream stream) {
    if (capture_of(stream) != 0) --open;
    return Runtime::end_capture(stream);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    pass(At::copy, stream);
    Runtime::copy(to, from, bytes, stream);
  }
  using Runtime::launch;
  template <class Kernel>
  void launch(const Kernel& kernel, cuda::Grid grid, Stream stream) {
    pass(At::launch, stream);
    Runtime::launch(kernel, grid, stream);
  }
  template <class T>
  void launch(const kernel::SumOfRanks<T>& sum, cuda::Grid grid, Stream stream) {
    pass(At::sum, stream);
    Runtime::launch(sum, grid, stream);
  }

 private:
  void pass(At what, Stream stream) {
    if (what != at || capture_of(stream) == 0 || ++passed != fails_at) return;
    ++failures;
    if (!sleeps) throw Error("an operation", "no failure", "one that is planted");
    std::this_thread::sleep_for(milliseconds(1500));
  }
};

/// What each of three ranks says.
std::vector<std::string> said_of_capture(std::size_t culprit, std::size_t at, milliseconds deadline) {
  std::vector<std::string> said(failing_ranks);
  (void)::test::error_of([&] {
    launch(
        failing_ranks,
        [&](comm::Threads& world) {
          FailsInCapture::passed = 0;
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
  using At = FailsInCapture::At;
  struct Place {
    At at;
    std::size_t number;
  };
  // In launches the last one is of the update, behind all collectives.
  constexpr Place places[] = {{At::launch, 1}, {At::launch, 7}, {At::launch, 20}, {At::launch, 50}, {At::copy, 1},
                              {At::copy, 3},   {At::copy, 7},   {At::sum, 1},     {At::sum, 3}};
  for (std::size_t culprit = 0; culprit < failing_ranks; ++culprit)
    for (const Place& place : places) {
      CAPTURE(culprit, static_cast<int>(place.at), place.number);
      emulated::Runtime::defaults = {.seed = place.number, .memory = room};
      FailsInCapture::sleeps = false;
      FailsInCapture::at = place.at;
      FailsInCapture::failures = 0;
      const auto start = std::chrono::steady_clock::now();
      const std::vector<std::string> said = said_of_capture(culprit, place.number, milliseconds(20000));
      CHECK(std::chrono::steady_clock::now() - start < milliseconds(10000));  // not by the deadline
      CHECK(FailsInCapture::failures == 1);
      CHECK(FailsInCapture::open == 0);
      for (std::size_t rank = 0; rank < failing_ranks; ++rank) {
        INFO("rank " << rank << ": " << said[rank]);
        CHECK(::test::says(said[rank], "one that is planted"));
        if (rank != culprit) CHECK(::test::says(said[rank], "rank " + std::to_string(culprit) + " failed: "));
      }
    }
  for (std::size_t culprit = 0; culprit < failing_ranks; ++culprit)
    for (const Place& place : {Place{At::launch, 5}, Place{At::copy, 1}, Place{At::sum, 1}}) {
      CAPTURE(culprit, static_cast<int>(place.at));
      emulated::Runtime::defaults = {.seed = culprit, .memory = room};
      FailsInCapture::sleeps = true;
      FailsInCapture::at = place.at;
      for (const std::string& each : said_of_capture(culprit, place.number, milliseconds(500))) {
        INFO(each);
        CHECK(::test::says(each, "no sign of rank " + std::to_string(culprit) + " within 500 ms"));
      }
      CHECK(FailsInCapture::open == 0);
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
