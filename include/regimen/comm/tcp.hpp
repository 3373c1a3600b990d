// regimen/comm/tcp.hpp — ranks are processes on one or several machines, connected by TCP.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/comm/detail/wire.hpp>
#include <regimen/comm/rendezvous.hpp>
#include <regimen/comm/tree.hpp>

#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

namespace regimen::comm {

/// CPU ranks that torchrun, Slurm or regimen::launch_processes starts, without MPI.
///
///   Tcp ranks(tcp_options(world_of_environment(), fingerprint));
///
/// Every rank has two connections to every other rank. A collective sends each slice straight to its owner, so every
/// slice is sent once, and the owner sums in the tree's order. Sends and receives of all peers run at the same time.
///
/// Tcp takes the place of Gloo. Debian's Gloo (2022) has no asynchronous operations, and only a legacy reduce-scatter;
/// its time-out is per buffer and names no rank; a failing rank cannot tell the reason; and the order of its sums
/// depends on the algorithm that it selects. A communicator of Regimen needs all of these.
///
/// failure   the constructor throws Error within the deadline: nothing listens at the address, its port is in use,
///           another program listens there, the number of ranks differs, a rank occurs twice, fingerprints differ (the
///           error names the ranks), a rank does not arrive. Collectives throw PeerError, as comm::Collectives says: at
///           once when a rank leaves, ends or is killed (its connection closes); when it hangs, within the deadline,
///           counted from the last byte that moved. A communicator that an exception destroys leaves
/// units     IPv4; ranks of one byte order; 16384 ranks at most; 2 (ranks − 1) open files per rank
/// reach     if the address means loopback on every host (127.0.0.1, localhost), all ranks listen on loopback only;
///           otherwise on all interfaces, because a host often resolves its own name to a loopback address
/// trust     with a secret, only processes that know it can join: both sides of every connection prove it first, and
///           strangers at the port delay nobody. Without a secret any process that reaches the port can join as a rank.
///           In both cases nothing is encrypted, and an attacker on the network can change tensors: for networks of one
///           owner only, like other communicators of this kind
/// cost      all_gather, reduce_scatter: (ranks − 1) · slice out and as much in; staging: chunked_staging_bytes
class Tcp final {
 public:
  explicit Tcp(const TcpOptions& options) : wire_(options), exceptions_(std::uncaught_exceptions()) {}
  Tcp(const Tcp&) = delete;
  Tcp& operator=(const Tcp&) = delete;
  ~Tcp() {
    if (std::uncaught_exceptions() > exceptions_) leave("an exception");
  }

  std::size_t rank() const { return wire_.rank(); }
  std::size_t size() const { return wire_.size(); }
  static constexpr std::size_t staging_bytes(std::size_t ranks, std::size_t slice_bytes) {
    return chunked_staging_bytes(ranks, slice_bytes);
  }

  void all_gather(const std::byte* own, std::byte* all, std::size_t slice_bytes, Teams teams = {}) {
    gather(CollectiveKind::AllGather, own, all, slice_bytes, teams);
  }
  void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) {
    gather(CollectiveKind::AllGatherSmall, own, all, bytes, {});
  }

  template <Number T>
  void reduce_scatter(const T* all, T* own, std::size_t count, std::byte* staging, Teams teams = {}) {
    wire_.begin(CollectiveKind::ReduceScatter, count * sizeof(T), sizeof(T));
    const std::size_t members = teams.members(size()), here = teams.place(rank());
    const std::size_t most = chunk_bytes(members) / sizeof(T), chunk = count < most ? count : most,
                      lane = (chunk * sizeof(T) + 63) / 64 * 64;
    for_each_other(teams, [&](std::size_t p) {
      wire_.send(teams.member(rank(), p), reinterpret_cast<const std::byte*>(all + p * count), count * sizeof(T));
      wire_.expect(teams.member(rank(), p));
    });
    // The peers' chunks lie side by side in staging; this rank's own summands are read in place.
    // One chunk is summed at a time.
    const auto lane_of = [&](std::size_t p) { return staging + (p < here ? p : p - 1) * lane; };
    for (std::size_t at = 0; at < count; at += chunk) {
      const std::size_t now = chunk < count - at ? chunk : count - at;
      for_each_other(teams, [&](std::size_t p) { wire_.window(teams.member(rank(), p), lane_of(p), now * sizeof(T)); });
      wire_.run(false);
      tree_sum(
          [&](std::size_t p) { return p == here ? all + here * count + at : reinterpret_cast<const T*>(lane_of(p)); },
          members, own + at, now);
    }
    wire_.run(true);
  }

  void barrier() {
    wire_.begin(CollectiveKind::Barrier, 0, 0);
    for_each_other({}, [&](std::size_t r) {
      wire_.send(r, nullptr, 0);
      wire_.expect(r);
    });
    wire_.run(true);
  }

  void leave(std::string_view reason) { wire_.leave(reason); }
  std::string gone() { return wire_.gone(); }
  Deadline deadline() const { return wire_.deadline(); }

 private:
  /// Calls body(place) for the other ranks of the team.
  template <class Body>
  void for_each_other(Teams teams, const Body& body) const {
    const std::size_t members = teams.members(size());
    for (std::size_t step = 1; step < members; ++step) body((teams.place(rank()) + step) % members);
  }

  void gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes, Teams teams) {
    wire_.begin(kind, bytes, 0);
    std::byte* const here = all + teams.place(rank()) * bytes;
    if (own != here && bytes != 0) std::memcpy(here, own, bytes);
    for_each_other(teams, [&](std::size_t place) {
      const std::size_t r = teams.member(rank(), place);
      wire_.send(r, here, bytes);
      wire_.expect(r);
      wire_.window(r, all + place * bytes, bytes);
    });
    wire_.run(true);
  }

  detail::Wire wire_;
  const int exceptions_;  // in flight at construction
};

static_assert(Collectives<Tcp>);

/// The options of Tcp from a World, with the secret from the environment (REGIMEN_SECRET, see secret_from).
///
/// failure  Error if the World has no address and port of rank 0; errors of secret_from
inline TcpOptions tcp_options(const Membership& world, std::uint64_t fingerprint,
                              Deadline deadline = default_deadline) {
  if (world.size > 1 && (world.address.empty() || world.port == 0)) {
    throw Error(world.said, "MASTER_ADDR and MASTER_PORT, where rank 0 is to be found",
                world.address.empty() ? "no MASTER_ADDR" : "no MASTER_PORT", "set both, the same for all ranks");
  }
  TcpOptions options;
  options.rank = world.rank;
  options.size = world.size;
  options.address = world.address;
  options.port = world.port;
  options.fingerprint = fingerprint;
  options.deadline = deadline;
  options.secret = secret_of_environment();
  return options;
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
