// A device that several runtimes share, as threads of one process share a GPU: they see each other's memory and events.
#include <regimen/comm/launch.hpp>
#include <regimen/comm/ranks_of.hpp>
#include <regimen/engine/cuda/transport.hpp>
#include <regimen/engine/emulated/runtime.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace regimen;
using emulated::Runtime;

namespace {

constexpr std::size_t bytes = 200;

/// A runtime of a rank, with some memory of the device and of the host.
struct Part {
  Runtime runtime{};
  Runtime::Stream stream = runtime.make_stream();
  Runtime::Event event = runtime.make_event();
  std::byte* device = runtime.allocate(bytes, "a part");
  std::byte* host = runtime.allocate_pinned(bytes, "a part");

  void put(int byte) {
    std::memset(host, byte, bytes);
    runtime.upload(device, host, bytes, stream);
    runtime.record(event, stream);
  }
  std::byte get() {
    runtime.download(host, device, bytes, stream);
    runtime.record(event, stream);
    runtime.synchronize(event);
    return host[bytes - 1];
  }
};

/// Writes a byte.
struct Writes {
  static constexpr unsigned threads = 32;
  std::byte* at;
  static constexpr unsigned blocks() { return 1; }
  void operator()(const auto& block) const {
    if (block.thread() == 0) *at = std::byte{1};
  }
};

/// body(part of this rank, parts of all ranks, ranks)
void on_one_device(std::size_t ranks, const auto& body) {
  const std::size_t number = Runtime::new_device();
  std::vector<Part*> all(ranks);
  launch(ranks, [&](comm::Threads& threads) {
    Runtime::share_device(number);
    Part own;
    all[threads.rank()] = &own;
    threads.barrier();
    body(own, all, threads);
    threads.barrier();
  });
}

}  // namespace

TEST_CASE("a stream waits for an event of another thread's runtime, and copies what that wrote") {
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    CAPTURE(seed);
    Runtime::defaults = {.seed = seed};
    on_one_device(4, [&](Part& own, const std::vector<Part*>& all, comm::Threads& threads) {
      const std::size_t next = (threads.rank() + 1) % 4;
      own.put(int(threads.rank()) + 1);
      threads.barrier();
      own.runtime.wait(own.stream, all[next]->event);
      threads.barrier();  // nobody records its event again before all wait for it
      std::byte* const copy = own.runtime.allocate(bytes, "a copy");
      own.runtime.copy(copy, all[next]->device, bytes, own.stream);
      own.runtime.download(own.host, copy, bytes, own.stream);
      own.runtime.record(own.event, own.stream);
      own.runtime.synchronize(own.event);
      if (own.host[0] != std::byte(next + 1)) throw Error("a copy", std::to_string(next + 1), "another byte");
    });
  }
  Runtime::defaults = {};
}

TEST_CASE("an error of one thread's work loses the device for all, and a device is new when all have gone") {
  const std::size_t number = Runtime::new_device();
  for (const bool fails : {true, false}) {
    const std::string error = ::test::error_of([&] {
      launch(2, [&](comm::Threads& threads) {
        Runtime::share_device(number);
        Part own;
        threads.barrier();
        if (fails && threads.rank() == 0) {
          std::byte* const behind = own.device + bytes;
          own.put(1);
          own.runtime.launch(Writes{behind}, {.blocks = 1, .threads = 32}, own.stream);
          (void)::test::error_of([&] { (void)own.get(); });
        }
        threads.barrier();
        own.put(2);
        if (own.get() != std::byte{2}) throw Error("a copy", "2", "another byte");
      });
    });
    INFO(error);
    CHECK(::test::says(error, fails ? "one that an earlier error has lost" : ""));
    CHECK(error.empty() != fails);
  }
}

TEST_CASE("too many ranks for a device, and ranks of two devices, are refused") {
  const auto error_of = [](std::size_t ranks, bool on_one) {
    const std::size_t number = Runtime::new_device(), other = Runtime::new_device();
    return ::test::error_of([&] {
      launch(ranks, [&](comm::Threads& threads) {
        Runtime::share_device(on_one || threads.rank() == 0 ? number : other);
        comm::RanksOf<comm::Threads> hosts(threads);
        Runtime runtime;
        const cuda::RanksOfThreads<Runtime> by(runtime, &hosts);
      });
    });
  };
  CHECK(error_of(4, true) == "");
  CHECK(::test::says(error_of(33, true), "ranks that share a GPU: expected at most 32, found 33"));
  CHECK(::test::says(error_of(2, false), "expected the same GPU on all 2 ranks, found \""));
}

TEST_CASE("an event ends with its runtime, but for a lasting one") {
  Runtime::share_device(Runtime::new_device());
  Part stays;
  Runtime::Event ends{}, lasts{};
  {
    Part goes;
    ends = goes.event;
    lasts = goes.runtime.make_lasting_event();
    goes.put(1);
    goes.runtime.record(lasts, goes.stream);
    stays.runtime.wait(stays.stream, ends);
  }
  stays.runtime.wait(stays.stream, lasts);
  CHECK(::test::says(::test::error_of([&] { stays.runtime.wait(stays.stream, ends); }), "one whose runtime has ended"));
  Runtime::share_device(0);
}

TEST_CASE("memory of a runtime that has gone is no memory, and its queued work has ended") {
  const std::size_t number = Runtime::new_device();
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Runtime::defaults = {.seed = seed};
    Runtime::share_device(number);
    Part stays;
    std::byte* gone = nullptr;
    {
      Part goes;
      gone = goes.device;
      goes.put(5);
      stays.runtime.wait(stays.stream, goes.event);
      stays.runtime.copy(stays.device, goes.device, bytes, stays.stream);
    }
    CHECK(stays.get() == std::byte{5});
    const std::string error = ::test::error_of([&] { stays.runtime.copy(stays.device, gone, bytes, stays.stream); });
    CHECK(::test::says(error, "which has 200 bytes and was released"));
  }
  Runtime::defaults = {};
  Runtime::share_device(0);
}
// SPDX-License-Identifier: Apache-2.0
