// regimen/comm/detail/mesh.hpp — connects processes that know one address to a full mesh.
#pragma once

#include <regimen/comm/detail/socket.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/core/compiled.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace regimen::comm {

/// A process's place among the others, and where they connect.
struct TcpOptions final {
  std::size_t rank = 0, size = 1;
  std::string address = "127.0.0.1";  // of rank 0, a name or an IPv4 address
  std::uint16_t port = 0;             // where rank 0 listens
  std::uint64_t fingerprint = 0;      // of the program, its weights and data: ranks with another one are refused
  Deadline deadline = default_deadline;
  int listener = -1;   // rank 0 only: a socket that listens already, which is taken over; port is not used then
  std::string secret;  // only ranks know it; empty: any process that reaches a port may join
};

namespace detail {

/// Two connections to another rank: one for data, and one for the reason why a rank leaves, which so never waits behind
/// half a message.
struct Connections final {
  Socket data, control;
};

/// The most ranks of a full mesh; this bounds the memory, whatever the environment says.
inline constexpr std::size_t most_tcp_ranks = 16384;

/// Checks options before any connection is made and any memory is allocated.
const TcpOptions& checked(const TcpOptions& options);

/// Rank 0 listens at the address that all ranks know; the others connect and send the addresses where they listen; rank
/// 0 sends all addresses to all ranks; then each rank connects to the ranks below it. Empty at this rank's own place.
std::vector<Connections> join_mesh(const TcpOptions& options);

}  // namespace detail
}  // namespace regimen::comm

#if !REGIMEN_COMPILED
#include <regimen/comm/detail/mesh.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
