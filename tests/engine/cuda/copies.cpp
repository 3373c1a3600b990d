// Copies of any size go through a bounded number of pinned bytes, in the order of the operations.
#include <regimen/engine/emulated/device.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t most_pinned = std::size_t{64} << 20;

/// Counts the pinned bytes that are asked for.
struct Counting : emulated::Runtime {
  static inline std::size_t pinned = 0;
  std::byte* allocate_pinned(std::size_t bytes, const char* name) {
    pinned += bytes;
    return Runtime::allocate_pinned(bytes, name);
  }
};
using Engine = cuda::Engine<Counting>;
using Fence = Engine::Fence;

constexpr std::uint64_t seeds = 4;  // one of each temper of the device

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = first + static_cast<std::uint32_t>(i) * 2654435761u;
  return all;
}

/// Devices that are made in this scope work in the seed's order; their pinned bytes are counted from zero.
struct Seeded {
  explicit Seeded(std::uint64_t seed) {
    emulated::Runtime::defaults = {.seed = seed};
    Counting::pinned = 0;
  }
  ~Seeded() { emulated::Runtime::defaults = {}; }
  Seeded(const Seeded&) = delete;
};

}  // namespace

TEST_CASE("a large tensor is copied through bounded pinned memory, both ways") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    constexpr std::size_t count = (std::size_t{70} << 18) + 7;  // 70 MiB and a little
    const Seeded seeded(seed);
    Engine engine({.bytes = count * 4});
    std::vector<std::uint32_t> from = numbers(count, 1), to(count);
    const Fence uploaded = engine.upload(0, std::as_bytes(std::span(from)));
    from.assign(count, 0);  // it may change after the call
    const Fence downloaded = engine.download(0, std::as_writable_bytes(std::span(to)));
    engine.run(op::Zero<float>{{0}, count});  // comes after the copy
    uploaded.wait();
    downloaded.wait();
    CHECK((to == numbers(count, 1)));  // in brackets: Catch would print all of them
    engine.download(0, std::as_writable_bytes(std::span(to))).wait();
    CHECK(std::all_of(to.begin(), to.end(), [](std::uint32_t number) { return number == 0; }));
    CHECK(Counting::pinned > 0);
    CHECK(Counting::pinned <= most_pinned);
  }
}

TEST_CASE("copies of every size together hold bounded pinned memory") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    constexpr std::size_t count = std::size_t{5} << 20;  // 20 MiB
    const Seeded seeded(seed);
    Engine engine({.bytes = count * 4});
    std::vector<std::uint32_t> to(count), expected(count, 0);
    for (std::uint32_t round = 0; round < 3; ++round)
      for (std::size_t size = 1; size + 2 <= count; size *= size < 64 ? 8 : 3) {
        for (std::uint32_t copy = 0; copy < 10; ++copy) {  // more than may be on their way, none of which is awaited
          const std::vector<std::uint32_t> from = numbers(size, round * 100 + copy);
          std::copy(from.begin(), from.end(), expected.begin() + copy % 3);
          engine.upload(std::size_t{copy % 3} * 4, std::as_bytes(std::span(from)));
        }
        const Fence downloaded = engine.download(0, std::as_writable_bytes(std::span(to)));
        const std::vector<std::uint32_t> none = {0};
        const Fence last = engine.upload(0, std::as_bytes(std::span(none)));
        downloaded.wait();
        last.wait();
        REQUIRE((to == expected));
        expected[0] = 0;
      }
    if (static_cast<emulated::Temper>(seed) == emulated::Temper::lazy) CHECK(Counting::pinned > most_pinned / 2);
    CHECK(Counting::pinned <= most_pinned);
  }
}

TEST_CASE("results that are read late keep their memory until then") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    constexpr std::size_t count = std::size_t{9} << 19;  // 18 MiB: two pieces
    const Seeded seeded(seed);
    Engine engine({.bytes = count * 4});
    std::vector<std::vector<std::uint32_t>> to(3, std::vector<std::uint32_t>(count));
    std::vector<Fence> fences;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::vector<std::uint32_t> from = numbers(count, i);
      engine.upload(0, std::as_bytes(std::span(from)));
      fences.push_back(engine.download(0, std::as_writable_bytes(std::span(to[i]))));
    }
    for (const std::size_t i : {1u, 0u, 2u}) fences[i].wait();
    for (std::uint32_t i = 0; i < 3; ++i) CHECK((to[i] == numbers(count, i)));
  }
}
// SPDX-License-Identifier: Apache-2.0
