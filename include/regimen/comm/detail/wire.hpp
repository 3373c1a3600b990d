// regimen/comm/detail/wire.hpp — moves bytes to and from all peers at once, with a deadline and reasons for failures.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/comm/detail/mesh.hpp>
#include <regimen/comm/detail/socket.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/core/compiled.hpp>

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regimen::comm::detail {

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
  void leave(std::string_view reason);

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

}  // namespace regimen::comm::detail

#if !REGIMEN_COMPILED
#include <regimen/comm/detail/wire.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
