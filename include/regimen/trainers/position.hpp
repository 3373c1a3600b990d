// regimen/trainers/position.hpp — the place of a run in its steps, data and evaluations.
#pragma once

#include <regimen/data/batching.hpp>
#include <regimen/saves/patience.hpp>

#include <cstdint>

namespace regimen::trainers {

/// The place of a Trainer in its run. A saved state has all members, except those of the batches of a loop by hand: a
/// resumed program asks for these again.
struct Position final {
  std::uint64_t steps_done = 0;
  DataPlace place{};          // in the data that fit reads
  Batching batching{};        // of the last call of Trainer::batches; `by_hand` of its batches are applied
  std::uint64_t by_hand = 0;  // micro-batches
  saves::Patience patience{};
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
