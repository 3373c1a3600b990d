// regimen/comm/control.hpp — the other ranks, as a program of any communicator sees them: what is said on the host, and what moves tensors.
#pragma once

#include <regimen/comm/teams.hpp>
#include <regimen/core/number.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace regimen::comm {

/// What ranks say to each other on the host: agreement, decisions, errors. Every call waits for all ranks, which make the same
/// calls in the same order, among their tensor collectives too.
///
///   failure   a call throws what ended the run; then all later ones throw
class Control {
 public:
  Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  virtual ~Control() = default;

  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;

  /// A few bytes of every rank.
  virtual void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) = 0;
  /// Any number of bytes of every rank of a team, one behind the other.
  virtual void all_gather(const std::byte* own, std::byte* all, std::size_t bytes, Teams teams) = 0;
  /// This rank goes on no more. Returns when nobody reads its memory.
  virtual void leave(std::string_view reason) = 0;
};

/// Collectives over tensors in host memory, in the order in which they are started, which is the same on all ranks. One interface
/// for all communicators, so that no kernel is compiled again for another one.
///
///   failure   await throws what ended the collective; then all later ones throw
class TensorCollectives {
 public:
  TensorCollectives() = default;
  TensorCollectives(const TensorCollectives&) = delete;
  TensorCollectives& operator=(const TensorCollectives&) = delete;
  virtual ~TensorCollectives() = default;

  /// all[p · bytes ...] of every place p of the team. Returns a ticket.
  virtual std::size_t start_all_gather(const std::byte* own, std::byte* all, std::size_t bytes, Teams teams) = 0;
  virtual std::size_t start_all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) = 0;
  /// Slice p of `all`, where p is this rank's place in its team, becomes the sum of the team's slices p; count elements each.
  virtual std::size_t start_reduce_scatter(ElementType element, std::byte* all, std::size_t count, std::byte* staging, Teams teams) = 0;
  virtual void await(std::size_t ticket) = 0;
};

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
