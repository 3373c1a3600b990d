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
inline Clock::time_point end_of(Deadline deadline, Clock::time_point start = Clock::now()) {
  constexpr Deadline century = std::chrono::hours(24 * 365 * 100);
  return start + (deadline < century ? deadline : century);
}

/// The description of a collective that ranks compare: all members must be equal. `detail`
/// is the size of a summed element.
struct Call final {
  std::uint64_t number = 0;  // counts this communicator's collectives, from 0
  std::uint64_t bytes = 0;
  std::uint32_t detail = 0;
  CollectiveKind kind = CollectiveKind::Barrier;

  friend bool operator==(const Call&, const Call&) = default;
};

/// "reduce_scatter number 12 (4096 bytes, element size 4)"
inline std::string words(const Call& call) {
  std::string text = std::string(name_of_collective(call.kind)) + " number " + std::to_string(call.number);
  if (call.kind == CollectiveKind::Barrier) return text;
  text += " (" + std::to_string(call.bytes) + " bytes";
  if (call.kind == CollectiveKind::ReduceScatter) text += ", elements of " + std::to_string(call.detail);
  return text + ")";
}

/// The deadline, if it is above zero.
inline Deadline checked(Deadline deadline) {
  if (deadline <= Deadline::zero())
    throw Error("the deadline of the ranks", "more than 0 ms", std::to_string(deadline.count()) + " ms",
                "give the time that a rank may wait for the others, or leave it out");
  return deadline;
}

/// "2.5 s"
inline std::string words(Deadline time) {
  const auto count = time.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

/// "rank 3", "ranks 1, 2 and 5": the ranks below `ranks` for which `is` holds.
template <class Is>
std::string ranks_where(std::size_t ranks, const Is& is) {
  std::size_t left = 0;
  for (std::size_t r = 0; r < ranks; ++r) left += is(r) ? 1 : 0;
  std::string text = left == 1 ? "rank " : "ranks ";
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!is(r)) continue;
    text += std::to_string(r);
    if (--left > 0) text += left == 1 ? " and " : ", ";
  }
  return text;
}

/// How a rank names itself in an error.
inline std::string place(std::size_t rank, std::size_t ranks) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(ranks);
}

/// Why all ranks end; every rank reports the same text.
inline std::string rank_failed(std::size_t rank, std::string_view reason) {
  return "rank " + std::to_string(rank) + " failed: " + std::string(reason);
}

inline PeerError peer_error(std::size_t rank, std::size_t ranks, const Call& call, const std::string& cause) {
  return PeerError(place(rank, ranks) + ", " + words(call), "all ranks to take part", cause,
                   "see what the named rank itself reports; then start again from the last saved state");
}

}  // namespace detail
}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
