// regimen/comm/peer_error.hpp — the error of a collective that other ranks prevent from ending.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace regimen::comm {

/// Another rank failed, did not arrive in time, or called another collective. The text names that rank. A program may
/// catch this to restart from its last saved state, with a new communicator.
class PeerError final : public Error {
 public:
  using Error::Error;
};

/// How long a rank waits for the others while no bytes move, before it throws and names the missing ranks. The largest
/// value waits for ever.
using Deadline = std::chrono::milliseconds;
inline constexpr Deadline default_deadline = std::chrono::seconds(300);

namespace detail {

using Clock = std::chrono::steady_clock;

/// The end of a deadline that begins at `start`. A century counts as for ever; so sums of times do not overflow, since
/// the clock counts nanoseconds and overflows after 292 years.
Clock::time_point end_of(Deadline deadline, Clock::time_point start = Clock::now());

/// The description of a collective that ranks compare: all members must be equal. `detail` is the size of a summed
/// element. Messages begin with these bytes.
struct Call final {
  std::uint64_t number = 0;  // counts this communicator's collectives, from 0
  std::uint64_t bytes = 0;
  std::uint32_t detail = 0;
  CollectiveKind kind = CollectiveKind::Barrier;

  friend bool operator==(const Call&, const Call&) = default;
};

/// "reduce_scatter number 12 (4096 bytes, element size 4)"
std::string words(const Call& call);

/// The deadline, if it is above zero.
Deadline checked(Deadline deadline);

/// "2.5 s"
std::string words(Deadline time);

/// "rank 3", "ranks 1, 2 and 5": the ranks below `ranks` for which `is` holds; empty if there are none.
template <class Is>
std::string ranks_where(std::size_t ranks, const Is& is) {
  std::size_t left = 0;
  for (std::size_t r = 0; r < ranks; ++r) left += is(r) ? 1 : 0;
  std::string text = left == 0 ? "" : left == 1 ? "rank " : "ranks ";
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!is(r)) continue;
    text += std::to_string(r);
    if (--left > 0) text += left == 1 ? " and " : ", ";
  }
  return text;
}

/// How a rank names itself in an error.
std::string place(std::size_t rank, std::size_t ranks);

/// Why all ranks end; every rank reports the same text.
std::string rank_failed(std::size_t rank, std::string_view reason);

PeerError peer_error(std::size_t rank, std::size_t ranks, const Call& call, const std::string& cause);

}  // namespace detail
}  // namespace regimen::comm

#if !REGIMEN_COMPILED
#include <regimen/comm/peer_error.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
