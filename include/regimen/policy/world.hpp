// regimen/policy/world.hpp — the number of ranks, if the program states it.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// Decides how many ranks train together. With World<N> the compiler plans for N ranks: it checks the memory and a
/// GlobalBatch, and finds the largest batch. With World<> the launcher gives the number, and the Trainer's constructor
/// plans.
///
///   choices   World<N> with N ≥ 1; World<>: as many as the launcher starts
///   default   World<>
///   refuses   World<0>; two numbers; several ranks with Communicator<Solo>
///   failure   the constructor of a Trainer throws Error if the number of ranks is not N
///   effect    programs/facts.hpp (planned_ranks_of), trainers/session.hpp (world)
template <std::size_t... N>
struct World final {
  using axis = regimen::axis::world;
  static constexpr std::size_t ranks = (std::size_t{0} + ... + N);  // 0: known when the program runs
  static constexpr bool is_one_number = sizeof...(N) == 0 || (sizeof...(N) == 1 && ranks > 0);
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
