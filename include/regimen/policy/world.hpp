// regimen/policy/world.hpp — how many ranks there are, if the program knows.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// Decides how many ranks train together. Said here, the compiler checks what depends on it: memory, the largest batch, whether
/// a GlobalBatch can be cut. Otherwise the launcher says it, and the plan is made when the Trainer is.
///
///   choices   World<N> with N ≥ 1; World<>, as many as there are when the program runs
///   default   World<>
///   refuses   World<0>; two numbers; several ranks with Communicator<Solo>
///   failure   the constructor of a Trainer throws Error when there are not N ranks
template <std::size_t... N>
struct World final {
  using axis = regimen::axis::world;
  static constexpr std::size_t ranks = (std::size_t{0} + ... + N);  // 0: known when the program runs
  static constexpr bool is_one_number = sizeof...(N) == 0 || (sizeof...(N) == 1 && ranks > 0);
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
