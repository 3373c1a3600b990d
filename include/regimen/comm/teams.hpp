// regimen/comm/teams.hpp — collectives within groups of ranks.
#pragma once

#include <cstddef>

namespace regimen::comm {

/// A partition of all ranks into teams of equal size: a collective with Teams runs within each team, in all teams at
/// the same time. All ranks pass the same Teams.
///
///   size     ranks of a team; divides the number of ranks. 0: all ranks are one team
///   stride   from one member to the next. Of eight ranks, Teams{4, 1} are neighbours: 0 1 2 3 and 4 5 6 7; Teams{2, 4}
///            join equal places of these: 0 4, 1 5, 2 6 and 3 7. size · stride divides the number of ranks
///
/// A collective with Teams uses a rank's place in its team, from 0, in place of the rank.
struct Teams final {
  std::size_t size = 0, stride = 1;

  constexpr std::size_t members(std::size_t ranks) const { return size == 0 ? ranks : size; }
  constexpr std::size_t place(std::size_t rank) const { return size == 0 ? rank : rank / stride % size; }
  /// The rank at `place` in the team of `rank`.
  constexpr std::size_t member(std::size_t rank, std::size_t place) const {
    return size == 0 ? place : rank / (size * stride) * (size * stride) + place * stride + rank % stride;
  }
  /// Calls body(place, rank) for the other ranks of the team of `own`. Each rank begins with its neighbour: no rank is
  /// the first of all.
  template <class Body>
  constexpr void for_each_other(std::size_t own, std::size_t ranks, const Body& body) const {
    for (std::size_t step = 1; step < members(ranks); ++step) {
      const std::size_t other = (place(own) + step) % members(ranks);
      body(other, member(own, other));
    }
  }
};

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
