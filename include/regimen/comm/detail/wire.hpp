// regimen/comm/detail/wire.hpp — moves bytes to and from all peers at once, with a deadline and reasons for failures.
#pragma once

#include <regimen/comm/detail/mesh.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::comm::detail {

/// One rank's end of the mesh. In a collective a rank sends at most one message to each peer, and receives at most one;
/// a message begins with the Call, which must be equal on both sides. A reader may set windows: while its window is
/// full, a peer's message waits in the network.
class Wire final {
 public:
  explicit Wire(const TcpOptions& options)
      : rank_(checked(options).rank), deadline_(options.deadline), peers_(options.size), polls_(2 * options.size + 1) {
    Mesh mesh = join_mesh(options);
    for (std::size_t r = 0; r < size(); ++r) peers_[r].sockets = std::move(mesh.peers[r]);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Error("Tcp", "a pipe", system_words(errno));
    wake_ = Socket(ends[0]);
    waker_ = Socket(ends[1]);
  }

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return peers_.size(); }
  Deadline deadline() const { return deadline_; }

  /// Begins a collective; nothing to send or to receive yet.
  void begin(CollectiveKind kind, std::size_t bytes, std::size_t about) {
    call_ = {number_++, bytes, static_cast<std::uint32_t>(about), kind};
    header_ = {call_.number, call_.bytes, call_.detail, static_cast<std::uint32_t>(kind)};
    if (left_.load(std::memory_order_acquire)) throw error();
  }
  void send(std::size_t r, const std::byte* bytes, std::size_t count) {
    Peer& peer = peers_[r];
    peer.from = bytes;
    peer.to_send = count;
    peer.header_to_send = sizeof(Header);
  }
  /// Expects a message from r; windows say where its payload goes.
  void expect(std::size_t r) { peers_[r].header_to_receive = sizeof(Header); }
  void window(std::size_t r, std::byte* bytes, std::size_t count) {
    peers_[r].to = bytes;
    peers_[r].to_receive = count;
  }

  /// Moves bytes until all windows are full and, if asked, all is sent.
  void run(bool until_sent) {
    Clock::time_point moved = Clock::now();
    while (outstanding(until_sent)) {
      bool any = false;
      for (std::size_t step = 1; step < size(); ++step) {
        const std::size_t r = (rank_ + step) % size();
        any = push(r) || any;
        any = pull(r) || any;
      }
      if (any) moved = Clock::now();
      else if (outstanding(until_sent)) rest(end_of(deadline_, moved));
    }
  }

  /// Between collectives, without waiting: which ranks have ended, or were killed. Throws if a rank has left.
  std::string gone() {
    for (std::size_t r = 0; r < size(); ++r) {
      polls_[2 * r] = {-1, 0, 0};
      polls_[2 * r + 1] = {peers_[r].gone ? -1 : *peers_[r].sockets.control, POLLIN, 0};
    }
    polls_.back() = {-1, 0, 0};
    const int ready = ::poll(polls_.data(), polls_.size(), 0);
    if (left_.load(std::memory_order_acquire)) throw error();
    bool any = false;
    for (std::size_t r = 0; r < size(); ++r) {
      if (ready > 0 && polls_[2 * r + 1].revents != 0) listen(r);
      any = any || peers_[r].gone;
    }
    return any ? ranks_where(size(), [this](std::size_t r) { return peers_[r].gone; }) : std::string();
  }

  /// Tells the others at once, from any thread, why this rank leaves.
  void leave(std::string_view reason) { fail(rank_failed(rank_, reason)); }

 private:
  struct Header final {
    std::uint64_t number, bytes;
    std::uint32_t detail, kind;
  };
  struct Peer final {
    Mesh::Peer sockets;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t to_send = 0, to_receive = 0, header_to_send = 0, header_to_receive = 0;
    Header header{};
    bool gone = false;  // its control connection is closed

    bool sends() const { return header_to_send + to_send > 0; }
    bool receives() const { return header_to_receive + to_receive > 0; }
  };
  static constexpr std::uint32_t most_words = 16384;

  bool outstanding(bool until_sent) const {
    for (const Peer& peer : peers_) {
      if (peer.receives() || (until_sent && peer.sends())) return true;
    }
    return false;
  }

  /// Sends as much as the system takes now; returns whether that was anything.
  bool push(std::size_t r) {
    Peer& peer = peers_[r];
    if (!peer.sends()) return false;
    std::array<::iovec, 2> parts{
        {{reinterpret_cast<std::byte*>(&header_) + (sizeof(Header) - peer.header_to_send), peer.header_to_send},
         {const_cast<std::byte*>(peer.from), peer.to_send}}};
    ::msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ::ssize_t sent = ::sendmsg(*peer.sockets.data, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR) lost(r);
      return false;
    }
    const std::size_t count = static_cast<std::size_t>(sent), head = (std::min)(count, peer.header_to_send);
    peer.header_to_send -= head;
    peer.from += count - head;
    peer.to_send -= count - head;
    return count > 0;
  }

  bool pull(std::size_t r) {
    Peer& peer = peers_[r];
    if (!peer.receives()) return false;
    std::array<::iovec, 2> parts{
        {{reinterpret_cast<std::byte*>(&peer.header) + (sizeof(Header) - peer.header_to_receive),
          peer.header_to_receive},
         {peer.to, peer.to_receive}}};
    ::msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ::ssize_t got = ::recvmsg(*peer.sockets.data, &message, 0);
    if (got == 0) lost(r);
    if (got < 0) {
      if (errno != EAGAIN && errno != EINTR) lost(r);
      return false;
    }
    const std::size_t count = static_cast<std::size_t>(got), head = (std::min)(count, peer.header_to_receive);
    if (head > 0 && (peer.header_to_receive -= head) == 0) compare(r);
    peer.to += count - head;
    peer.to_receive -= count - head;
    return true;
  }

  void compare(std::size_t r) {
    const Header& header = peers_[r].header;
    const Call theirs{header.number, header.bytes, header.detail,
                      static_cast<CollectiveKind>(header.kind < collective_kinds ? header.kind : 0)};
    if (theirs == call_ && header.kind < collective_kinds) return;
    const bool first = rank_ < r;  // both sides report the same text
    fail("rank " + std::to_string(first ? rank_ : r) + " in " + words(first ? call_ : theirs) + " and rank " +
         std::to_string(first ? r : rank_) + " in " + words(first ? theirs : call_));
    throw error();
  }

  /// Nothing moves: waits until bytes can move, a rank leaves, or the time is over.
  void rest(Clock::time_point until) {
    for (std::size_t r = 0; r < size(); ++r) {
      const Peer& peer = peers_[r];
      const short events = static_cast<short>((peer.sends() ? POLLOUT : 0) | (peer.receives() ? POLLIN : 0));
      polls_[2 * r] = {events == 0 ? -1 : *peer.sockets.data, events, 0};
      polls_[2 * r + 1] = {peer.gone ? -1 : *peer.sockets.control, POLLIN, 0};
    }
    polls_.back() = {*wake_, POLLIN, 0};
    const int ready = ::poll(polls_.data(), polls_.size(), poll_time(until));
    if (ready < 0 && errno != EINTR) throw Error(place(rank_, size()), "poll to work", system_words(errno));
    if (left_.load(std::memory_order_acquire)) throw error();
    for (std::size_t r = 0; r < size(); ++r) {
      if (ready > 0 && polls_[2 * r + 1].revents != 0) listen(r);
    }
    if (ready == 0 && Clock::now() >= until) {
      fail("no sign of " +
           ranks_where(size(), [this](std::size_t r) { return peers_[r].sends() || peers_[r].receives(); }) +
           " within " + words(deadline_));
      throw error();
    }
  }

  /// Reads the control connection of r: the reason why all ranks must end, or r's normal end.
  void listen(std::size_t r) {
    Peer& peer = peers_[r];
    const Clock::time_point soon = Clock::now() + std::chrono::seconds(1);
    std::uint32_t bytes = 0;
    if (!receive_all(*peer.sockets.control, &bytes, sizeof bytes, soon) || bytes > most_words) {
      peer.gone = true;
      return;
    }
    std::string reason(bytes, ' ');
    if (!receive_all(*peer.sockets.control, reason.data(), bytes, soon))
      reason = rank_failed(r, "it could not say why");
    fail(reason);
    throw error();
  }

  /// The data connection of r is closed while it is needed. If r left, it has sent its reason before.
  [[noreturn]] void lost(std::size_t r) {
    if (!peers_[r].gone) listen(r);
    fail("the connection to rank " + std::to_string(r) + " was closed: it ended, or was killed");
    throw error();
  }

  /// Keeps the first cause, and sends it to every other rank.
  void fail(const std::string& cause) {
    const std::lock_guard lock(mutex_);
    if (!cause_.empty()) return;
    cause_ = cause.substr(0, most_words);
    left_.store(true, std::memory_order_release);
    const std::uint32_t bytes = static_cast<std::uint32_t>(cause_.size());
    for (const Peer& peer : peers_) {
      if (*peer.sockets.control < 0) continue;
      std::array<::iovec, 2> parts{
          {{const_cast<std::uint32_t*>(&bytes), sizeof bytes}, {cause_.data(), cause_.size()}}};
      ::msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      // Nothing was sent on this connection before, so the socket's buffer has room; a dead
      // peer does not need the reason.
      [[maybe_unused]] const ::ssize_t sent = ::sendmsg(*peer.sockets.control, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    [[maybe_unused]] const ::ssize_t woken = ::write(*waker_, "", 1);
  }

  PeerError error() {
    const std::lock_guard lock(mutex_);
    return peer_error(rank_, size(), call_, cause_);
  }

  const std::size_t rank_;
  const Deadline deadline_;
  std::vector<Peer> peers_;
  std::vector<::pollfd> polls_;
  Socket wake_, waker_;
  std::uint64_t number_ = 0;
  Call call_;
  Header header_{};
  std::atomic<bool> left_{false};
  std::mutex mutex_;
  std::string cause_;  // guarded: why the mesh has failed
};

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
