// regimen/programs/input_ring.hpp — the ring of inputs in the program of a step: its memory, and how a step takes from
// it.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/programs/forward.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::programs {

/// Allocates the count and `slots` slots; none: no ring.   X, Labels   of a micro-batch
template <class X, class Labels, std::size_t slots>
constexpr op::InputRing push_ring(auto& walk, LayerPath path) {
  if constexpr (slots == 0) {
    return {};
  } else {
    const std::size_t given = TensorArena::align(given_bytes), input = walk::bytes_of<X>(walk),
                      stride = given + input + walk::bytes_of<Labels>(walk),
                      head = TensorArena::align(sizeof(std::uint64_t)),
                      at = walk.arena.push(head + slots * stride, MemoryKind::input, path);
    return {
        .taken = {at}, .first = at + head, .stride = stride, .count = slots, .input = given, .target = given + input};
  }
}

/// Before a micro-batch: copies it from the ring, if there is one, to where the step reads it.
template <class X, class Labels, std::size_t slots>
constexpr void take_input(auto& walk, const Resident& r) {
  if constexpr (slots > 0)
    walk.run(op::TakeInput{.ring = r.ring,
                           .scalars = r.scalars,
                           .input = {r.input},
                           .target = {r.target},
                           .input_bytes = walk.batch * X::size * sizeof(typename X::Element),
                           .target_bytes = walk.batch * Labels::size * sizeof(typename Labels::Element)});
}

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
