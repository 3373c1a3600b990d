// regimen/comm/tcp.hpp — ranks are processes on one or several machines, connected by TCP.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/comm/detail/mesh.hpp>
#include <regimen/comm/detail/socket.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/comm/rendezvous.hpp>
#include <regimen/comm/teams.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/number.hpp>

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regimen::comm {

namespace detail {

/// One rank's end of the mesh. In a collective a rank sends at most one message to each peer, and receives at most one;
/// a message begins with the Call, which must be equal on both sides. A reader may set windows: while its window is
/// full, a peer's message waits in the network.
class Wire final {
 public:
  explicit Wire(const TcpOptions& options);

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return peers_.size(); }
  Deadline deadline() const { return deadline_; }

  /// Begins a collective; nothing to send or to receive yet.
  void begin(CollectiveKind kind, std::size_t bytes, std::size_t about);
  void send(std::size_t r, const std::byte* bytes, std::size_t count) {
    peers_[r].payload = {bytes, count};
    peers_[r].sent = 0;
  }
  /// Expects a message from r; windows say where its payload goes.
  void expect(std::size_t r) { peers_[r].header_to_receive = sizeof(Call); }
  void window(std::size_t r, std::byte* bytes, std::size_t count) {
    peers_[r].to = bytes;
    peers_[r].to_receive = count;
  }

  /// Moves bytes until all windows are full and, if asked, all is sent.
  void run(bool until_sent);

  /// Between collectives, without waiting: which ranks have ended, or were killed. Throws if a rank has left.
  std::string gone();

  /// Tells the others at once, from any thread, why this rank leaves.
  void leave(std::string_view reason) { fail(rank_failed(rank_, reason)); }

 private:
  struct Peer final {
    Connections sockets;
    std::span<const std::byte> payload;
    std::size_t sent = sizeof(Call);  // of the header and the payload
    std::byte* to = nullptr;
    std::size_t to_receive = 0, header_to_receive = 0;
    Call header{};
    bool gone = false;  // its control connection is closed

    bool sends() const { return sent < sizeof(Call) + payload.size(); }
    bool receives() const { return header_to_receive + to_receive > 0; }
  };
  static constexpr std::uint32_t most_words = 16384;

  bool outstanding(bool until_sent) const;

  /// Sends as much as the system takes now; returns whether that was anything.
  bool push(std::size_t r);

  bool pull(std::size_t r);

  void compare(std::size_t r);

  /// Waits until bytes can move, a rank leaves, or the time is over; then it returns false.
  bool look(Clock::time_point until);

  /// Reads the control connection of r: the reason why all ranks must end, or r's normal end.
  void listen(std::size_t r);

  /// The data connection of r is closed while it is needed. If r left, it has sent its reason before.
  [[noreturn]] void lost(std::size_t r);

  /// Keeps the first cause, and sends it to every other rank.
  void fail(const std::string& cause);

  PeerError error();

  const std::size_t rank_;
  const Deadline deadline_;
  std::vector<Peer> peers_;
  std::vector<::pollfd> polls_;
  Socket wake_, waker_;
  std::uint64_t number_ = 0;
  Call call_;
  std::atomic<bool> left_{false};
  std::mutex mutex_;
  std::string cause_;  // guarded: why the mesh has failed
};

}  // namespace detail

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
  explicit Tcp(const TcpOptions& options);
  Tcp(const Tcp&) = delete;
  Tcp& operator=(const Tcp&) = delete;
  ~Tcp();

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

  /// The bodies for all Numbers are compiled in regimen::compiled.
  template <Number T>
  void reduce_scatter(const T* all, T* own, std::size_t count, std::byte* staging, Teams teams = {});

  void barrier();

  void leave(std::string_view reason) { wire_.leave(reason); }
  std::string gone() { return wire_.gone(); }
  Deadline deadline() const { return wire_.deadline(); }

 private:
  void gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes, Teams teams);

  detail::Wire wire_;
  const int exceptions_;  // in flight at construction
};

static_assert(Collectives<Tcp>);

/// The options of Tcp from a World, with the secret from the environment (REGIMEN_SECRET, see secret_from).
///
/// failure  Error if the World has no address and port of rank 0; errors of secret_from
TcpOptions tcp_options(const Membership& world, std::uint64_t fingerprint, Deadline deadline = default_deadline);

}  // namespace regimen::comm

#if !REGIMEN_COMPILED
#include <regimen/comm/tcp.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
