// regimen/comm/teams.hpp — a collective of every rank with some of the others.
#pragma once

#include <cstddef>

namespace regimen::comm {

/// All ranks in teams of equal size: a collective that is given Teams is that of each team for itself, at the same time. All
/// ranks give the same ones.
///
///   size     ranks of a team; it divides the number of ranks. 0: all of them are one team
///   stride   from a member to the next: Teams{4, 1} are neighbours, 0 1 2 3 and 4 5 6 7; of eight ranks Teams{2, 4} are those at
///            the same place among them, 0 4, 1 5, 2 6 and 3 7. size · stride divides the number of ranks
///
/// A rank's place in its team, from 0, is what its rank is in a collective of all.
struct Teams final {
  std::size_t size = 0, stride = 1;

  constexpr std::size_t members(std::size_t ranks) const { return size == 0 ? ranks : size; }
  constexpr std::size_t place(std::size_t rank) const { return size == 0 ? rank : rank / stride % size; }
  /// The rank at `place` in the team of `rank`.
  constexpr std::size_t member(std::size_t rank, std::size_t place) const {
    return size == 0 ? place : rank / (size * stride) * (size * stride) + place * stride + rank % stride;
  }
};

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
