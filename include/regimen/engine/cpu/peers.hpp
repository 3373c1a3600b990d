// regimen/engine/cpu/peers.hpp — the other ranks, as an engine sees them: collectives that are started and awaited.
#pragma once

#include <regimen/comm/teams.hpp>
#include <regimen/core/number.hpp>

#include <cstddef>
#include <string_view>

namespace regimen::cpu {

/// Collectives over this rank's arena, in the order in which they are started, which is the same on all ranks. One interface
/// for all communicators, so that no kernel is compiled again for another one.
///
///   failure   await throws what ended the collective; then all later ones throw
class Peers {
 public:
  Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  virtual ~Peers() = default;

  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;

  /// all[p · bytes ...] of every place p of the team. Returns a ticket.
  virtual std::size_t start_gather(const std::byte* own, std::byte* all, std::size_t bytes, comm::Teams teams) = 0;
  /// Slice p of `all`, where p is this rank's place in its team, becomes the sum of the team's slices p; count elements each.
  virtual std::size_t start_reduce(ElementType element, std::byte* all, std::size_t count, std::byte* staging, comm::Teams teams) = 0;
  virtual void await(std::size_t ticket) = 0;

  /// A few bytes of every rank, at once.
  virtual void gather_small(const std::byte* own, std::byte* all, std::size_t bytes) = 0;
  /// This rank goes on no more. Returns when nobody reads its memory.
  virtual void leave(std::string_view reason) = 0;
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
