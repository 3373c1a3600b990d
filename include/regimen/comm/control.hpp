// regimen/comm/control.hpp — one interface to other ranks for all communicators: host control, tensor collectives.
#pragma once

#include <regimen/comm/peer_error.hpp>
#include <regimen/comm/teams.hpp>
#include <regimen/core/number.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace regimen::comm {

/// Small exchanges between ranks on the host: agreement, decisions, errors. Every call waits for all ranks. All ranks
/// make the same calls in the same order, also relative to their tensor collectives.
///
///   failure   a call throws the error that ended the run; then all later calls throw
class Control {
 public:
  Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  virtual ~Control() = default;

  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;

  /// Gathers a few bytes of every rank.
  virtual void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) = 0;
  /// Gathers any number of bytes of every rank of a team, one rank's after the other's.
  virtual void all_gather(const std::byte* own, std::byte* all, std::size_t bytes, Teams teams) = 0;
  /// This rank leaves. Returns when no other rank reads its memory.
  virtual void leave(std::string_view reason) = 0;

  /// Between two calls, and without waiting: throws PeerError if a rank has left. Names the ranks that have ended, or
  /// were killed, and send nothing more. Empty if there is none.
  virtual std::string gone() = 0;
  /// How long a rank waits for the others.
  virtual Deadline deadline() const = 0;
  /// Whether a rank awaits each collective of tensors when it starts it: nothing overlaps.
  virtual bool waits_at_start() const = 0;
};

/// Collectives over tensors in host memory. They run in the order of their starts, which is the same on all ranks. All
/// communicators share this interface, so kernels are compiled once.
///
///   failure   await throws the error that ended the collective; then all later calls throw
class TensorCollectives {
 public:
  TensorCollectives() = default;
  TensorCollectives(const TensorCollectives&) = delete;
  TensorCollectives& operator=(const TensorCollectives&) = delete;
  virtual ~TensorCollectives() = default;

  /// all[p · bytes ...] of every place p of the team. Returns a ticket.
  virtual std::size_t start_all_gather(const std::byte* own, std::byte* all, std::size_t bytes, Teams teams) = 0;
  virtual std::size_t start_all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) = 0;
  /// Slice p of `all`, where p is this rank's place in its team, becomes the sum of the team's
  /// slices p; count elements each.
  virtual std::size_t start_reduce_scatter(ElementType element, std::byte* all, std::size_t count, std::byte* staging,
                                           Teams teams) = 0;
  virtual void await(std::size_t ticket) = 0;
};

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
