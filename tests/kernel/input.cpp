// tests/kernel/input.cpp — micro-batches from the ring, and kept results, on a device: the CPU engine's bytes.
#include "run.hpp"

#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/step.hpp>
#include <regimen/kernel/input.hpp>

#include "../support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t slots = 3, slot_bytes = 3 * 256;

/// Of a micro-batch.
struct Bytes {
  std::size_t input, target;
};

std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 31 % 251); }

op::TakeInput ring_in(Arena& arena, std::uint64_t taken, std::size_t input_bytes, std::size_t target_bytes) {
  op::TakeInput o{.ring = {.taken = arena.room<std::uint64_t>(32),  // as all tensors, the next begins at 256 bytes
                           .first = 0,
                           .stride = slot_bytes,
                           .count = slots,
                           .input = 256,
                           .target = 512},
                  .scalars = {},
                  .input = {},
                  .target = {},
                  .input_bytes = input_bytes,
                  .target_bytes = target_bytes};
  const std::vector<std::byte> held(slots * slot_bytes);
  *arena.memory()(o.ring.taken) = taken;
  const View<std::byte> ring = arena.room<std::byte>(held.size());
  o.ring.first = ring.offset;
  for (std::size_t i = 0; i < held.size(); ++i) arena.memory()(ring)[i] = pattern(i);
  o.scalars = {arena.room<std::byte>(256).offset};
  o.input = arena.room<std::byte>(256);
  o.target = arena.room<std::byte>(256);
  return o;
}

}  // namespace

TEST_CASE("the next micro-batch comes from the slot that the count names, whole, and is counted") {
  for (const std::uint64_t taken : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{3} << 40})
    for (const Bytes& bytes : {Bytes{4, 4}, Bytes{200, 36}, Bytes{0, 0}, Bytes{15, 256}, Bytes{256, 16}}) {
      const std::size_t input_bytes = bytes.input, target_bytes = bytes.target;
      CAPTURE(taken, input_bytes, target_bytes);
      const std::size_t slot = static_cast<std::size_t>(taken % slots) * slot_bytes;
      const auto holds = [&](const Arena& arena, const op::TakeInput& o) {
        std::uint64_t counted = 0;
        std::memcpy(&counted, arena.bytes().data() + o.ring.taken.offset, sizeof counted);
        CHECK(counted == taken + 1);
        const auto is_copied = [&](std::size_t at, std::size_t from, std::size_t count) {
          for (std::size_t i = 0; i < 256; ++i)  // and nothing behind it
            if (arena.bytes()[at + i] != (i < count ? pattern(from + i) : std::byte{0xFF})) return false;
          return true;
        };
        CHECK(is_copied(o.scalars.offset, slot, given_bytes));
        CHECK(is_copied(o.input.offset, slot + 256, input_bytes));
        CHECK(is_copied(o.target.offset, slot + 512, target_bytes));
      };
      const auto make = [&](Arena& arena) { return ring_in(arena, taken, input_bytes, target_bytes); };
      in_every_way(1 << 13, make, holds);
      Arena arena(1 << 13);
      const op::TakeInput o = make(arena);
      cpu::execute(o, arena.memory());
      holds(arena, o);
    }
}

TEST_CASE("the results of a step are kept where they are asked") {
  const auto make = [](Arena& arena) {
    Scalars s;
    s.loss = 3.5, s.updates = 7, s.skipped = 1, s.apply = 1;
    op::KeepResults o{.scalars = arena.scalars(s), .to = arena.room<Scalars>(3) + 1};
    return o;
  };
  const auto holds = [](const Arena& arena, const op::KeepResults& o) {
    const auto read = [&](View<Scalars> at, std::size_t member) {
      double value = 0;
      std::memcpy(&value, arena.bytes().data() + at.offset + member, sizeof value);
      return value;
    };
    CHECK(read(o.to, offsetof(Scalars, loss)) == 3.5);
    CHECK(arena.bytes()[o.to.offset + offsetof(Scalars, updates)] == std::byte{7});
    CHECK(arena.bytes()[o.to.offset + offsetof(Scalars, apply)] == std::byte{1});
    CHECK(arena.bytes()[o.to.offset - 1] == std::byte{0xFF});
    CHECK(arena.bytes()[o.to.offset + sizeof(Scalars)] == std::byte{0xFF});
  };
  in_every_way(1 << 13, make, holds);
  Arena arena(1 << 13);
  const op::KeepResults o = make(arena);
  cpu::execute(o, arena.memory());
  holds(arena, o);
}
// SPDX-License-Identifier: Apache-2.0
