// Copies of any size go through a bounded number of pinned bytes, in the order of the operations.
#include <regimen/engine/emulated/device.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
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

namespace {

/// A hundred inputs of one number each through two slots of the device, from two places of pinned memory; each is read by
/// an operation of its own.   waits   for the copy from a place before it is written again
std::vector<float> fed(std::uint64_t seed, bool waits) {
  constexpr std::size_t count = 100, apart = 64;
  const Seeded seeded(seed);
  Engine engine({.bytes = (2 + count) * apart * sizeof(float)});
  std::byte* const places[2] = {engine.pin(sizeof(float)), engine.pin(sizeof(float))};
  Fence fences[2];
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const place = places[i % 2];
    if (waits) fences[i % 2].wait();
    const auto number = static_cast<float>(i + 1);
    std::memcpy(place, &number, sizeof number);
    const std::size_t slot = i % 2, at = slot * apart * sizeof(float);
    fences[slot] = engine.feed_pinned(slot, at, std::span<const std::byte>(place, sizeof number));
    engine.run(op::Copy<float>{.x = {at}, .y = {(2 + i) * apart * sizeof(float)}, .count = 1});
  }
  std::vector<float> numbers(count * apart), found(count);
  engine.download(2 * apart * sizeof(float), std::as_writable_bytes(std::span(numbers))).wait();
  for (std::size_t i = 0; i < count; ++i) found[i] = numbers[i * apart];
  return found;
}

}  // namespace

TEST_CASE("an input goes to the device from where it lies, which is written again after the fence") {
  std::vector<float> expected(100);
  std::iota(expected.begin(), expected.end(), 1.0f);
  std::size_t told = 0;
  for (std::uint64_t seed = 0; seed < 2 * seeds; ++seed) {
    CAPTURE(seed);
    CHECK(fed(seed, true) == expected);
    told += fed(seed, false) != expected;
  }
  CHECK(told > 0);  // some order tells of a place that is written too early
}

TEST_CASE("the fence of one copy to a slot holds when the next one to it was queued") {
  for (std::uint64_t seed = 0; seed < 2 * seeds; ++seed) {
    CAPTURE(seed);
    const Seeded seeded(seed);
    Engine engine({.bytes = 1024});
    std::byte* const first = engine.pin(4);
    std::byte* const second = engine.pin(4);
    const float one = 1, two = 2, junk = 7;
    std::memcpy(first, &one, sizeof one);
    std::memcpy(second, &two, sizeof two);
    const Fence sent = engine.feed_pinned(0, 0, std::span<const std::byte>(first, 4));
    engine.run(op::Copy<float>{.x = {0}, .y = {256}, .count = 1});
    engine.feed_pinned(0, 0, std::span<const std::byte>(second, 4));
    engine.run(op::Copy<float>{.x = {0}, .y = {512}, .count = 1});
    sent.wait();
    std::memcpy(first, &junk, sizeof junk);
    float found[2] = {};
    for (std::size_t i = 0; i < 2; ++i)
      engine.download(256 + 256 * i, std::as_writable_bytes(std::span(found + i, 1))).wait();
    CHECK(found[0] == one);
    CHECK(found[1] == two);
  }
}
