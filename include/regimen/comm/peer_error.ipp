// regimen/comm/peer_error.ipp — the bodies of peer_error.hpp.
#pragma once

#include <regimen/comm/peer_error.hpp>
#include <regimen/core/compiled.hpp>

namespace regimen::comm::detail {

REGIMEN_INLINE Clock::time_point end_of(Deadline deadline, Clock::time_point start) {
  constexpr Deadline century = std::chrono::hours(24 * 365 * 100);
  return start + (deadline < century ? deadline : century);
}

REGIMEN_INLINE std::string words(const Call& call) {
  std::string text = std::string(name_of_collective(call.kind)) + " number " + std::to_string(call.number);
  if (call.kind == CollectiveKind::Barrier) return text;
  text += " (" + std::to_string(call.bytes) + " bytes";
  if (call.kind == CollectiveKind::ReduceScatter) text += ", elements of " + std::to_string(call.detail);
  return text + ")";
}

REGIMEN_INLINE Deadline checked(Deadline deadline) {
  if (deadline <= Deadline::zero())
    throw Error("the deadline of the ranks", "more than 0 ms", std::to_string(deadline.count()) + " ms",
                "give the time that a rank may wait for the others, or leave it out");
  return deadline;
}

REGIMEN_INLINE std::string words(Deadline time) {
  const auto count = time.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

REGIMEN_INLINE std::string place(std::size_t rank, std::size_t ranks) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(ranks);
}

REGIMEN_INLINE std::string rank_failed(std::size_t rank, std::string_view reason) {
  return "rank " + std::to_string(rank) + " failed: " + std::string(reason);
}

REGIMEN_INLINE PeerError peer_error(std::size_t rank, std::size_t ranks, const Call& call, const std::string& cause) {
  return PeerError(place(rank, ranks) + ", " + words(call), "all ranks to take part", cause,
                   "see what the named rank itself reports; then start again from the last saved state");
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
