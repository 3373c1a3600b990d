// regimen/comm/tcp.ipp — the bodies of tcp.hpp.
#pragma once

#include <regimen/comm/tcp.hpp>
#include <regimen/comm/tree.hpp>
#include <regimen/core/error.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

namespace regimen::comm {

namespace detail {

REGIMEN_INLINE Wire::Wire(const TcpOptions& options)
    : rank_(checked(options).rank), deadline_(options.deadline), peers_(options.size), polls_(2 * options.size + 1) {
  std::vector<Connections> mesh = join_mesh(options);
  for (std::size_t r = 0; r < size(); ++r) peers_[r].sockets = std::move(mesh[r]);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Error("Tcp", "a pipe", system_words(errno));
  wake_ = Socket(ends[0]);
  waker_ = Socket(ends[1]);
}

REGIMEN_INLINE void Wire::begin(CollectiveKind kind, std::size_t bytes, std::size_t about) {
  call_ = {number_++, bytes, static_cast<std::uint32_t>(about), kind};
  if (left_.load(std::memory_order_acquire)) throw error();
}

REGIMEN_INLINE void Wire::run(bool until_sent) {
  Clock::time_point moved = Clock::now();
  while (outstanding(until_sent)) {
    bool any = false;
    for (std::size_t step = 1; step < size(); ++step) {
      const std::size_t r = (rank_ + step) % size();
      any = push(r) || any;
      any = pull(r) || any;
    }
    if (any) moved = Clock::now();
    else if (outstanding(until_sent) && !look(end_of(deadline_, moved))) {
      fail("no sign of " +
           ranks_where(size(), [this](std::size_t r) { return peers_[r].sends() || peers_[r].receives(); }) +
           " within " + words(deadline_));
      throw error();
    }
  }
}

REGIMEN_INLINE std::string Wire::gone() {
  look({});
  return ranks_where(size(), [this](std::size_t r) { return peers_[r].gone; });
}

REGIMEN_INLINE bool Wire::outstanding(bool until_sent) const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [=](const Peer& peer) { return peer.receives() || (until_sent && peer.sends()); });
}

REGIMEN_INLINE bool Wire::push(std::size_t r) {
  Peer& peer = peers_[r];
  if (!peer.sends()) return false;
  const ::ssize_t sent = send_parts(*peer.sockets.data, {bytes_of(call_), peer.payload}, peer.sent);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) lost(r);
    return false;
  }
  peer.sent += static_cast<std::size_t>(sent);
  return sent > 0;
}

REGIMEN_INLINE bool Wire::pull(std::size_t r) {
  Peer& peer = peers_[r];
  if (!peer.receives()) return false;
  std::array<::iovec, 2> parts{
      {{reinterpret_cast<std::byte*>(&peer.header) + (sizeof(Call) - peer.header_to_receive), peer.header_to_receive},
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

REGIMEN_INLINE void Wire::compare(std::size_t r) {
  Call theirs = peers_[r].header;
  if (theirs == call_) return;
  if (static_cast<std::size_t>(theirs.kind) >= collective_kinds) theirs.kind = CollectiveKind{};  // words needs a name
  const bool first = rank_ < r;  // both sides report the same text
  fail("rank " + std::to_string(first ? rank_ : r) + " in " + words(first ? call_ : theirs) + " and rank " +
       std::to_string(first ? r : rank_) + " in " + words(first ? theirs : call_));
  throw error();
}

REGIMEN_INLINE bool Wire::look(Clock::time_point until) {
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
  return ready != 0 || Clock::now() < until;
}

REGIMEN_INLINE void Wire::listen(std::size_t r) {
  Peer& peer = peers_[r];
  const Clock::time_point soon = Clock::now() + std::chrono::seconds(1);
  std::uint32_t bytes = 0;
  if (!receive_all(*peer.sockets.control, &bytes, sizeof bytes, soon) || bytes > most_words) {
    peer.gone = true;
    return;
  }
  std::string reason(bytes, ' ');
  if (!receive_all(*peer.sockets.control, reason.data(), bytes, soon)) reason = rank_failed(r, "it could not say why");
  fail(reason);
  throw error();
}

REGIMEN_INLINE void Wire::lost(std::size_t r) {
  if (!peers_[r].gone) listen(r);
  fail("the connection to rank " + std::to_string(r) + " was closed: it ended, or was killed");
  throw error();
}

REGIMEN_INLINE void Wire::fail(const std::string& cause) {
  const std::lock_guard lock(mutex_);
  if (!cause_.empty()) return;
  cause_ = cause.substr(0, most_words);
  left_.store(true, std::memory_order_release);
  const std::uint32_t bytes = static_cast<std::uint32_t>(cause_.size());
  for (const Peer& peer : peers_) {
    if (*peer.sockets.control < 0) continue;
    // Nothing was sent on this connection before, so the socket's buffer has room; a dead
    // peer does not need the reason.
    send_parts(*peer.sockets.control, {bytes_of(bytes), std::as_bytes(std::span(cause_))});
  }
  [[maybe_unused]] const ::ssize_t woken = ::write(*waker_, "", 1);
}

REGIMEN_INLINE PeerError Wire::error() {
  const std::lock_guard lock(mutex_);
  return peer_error(rank_, size(), call_, cause_);
}

}  // namespace detail

REGIMEN_INLINE Tcp::Tcp(const TcpOptions& options) : wire_(options), exceptions_(std::uncaught_exceptions()) {}

REGIMEN_INLINE Tcp::~Tcp() {
  if (std::uncaught_exceptions() > exceptions_) leave("an exception");
}

template <Number T>
void Tcp::reduce_scatter(const T* all, T* own, std::size_t count, std::byte* staging, Teams teams) {
  wire_.begin(CollectiveKind::ReduceScatter, count * sizeof(T), sizeof(T));
  const std::size_t members = teams.members(size()), here = teams.place(rank());
  const std::size_t most = chunk_bytes(members) / sizeof(T), chunk = count < most ? count : most,
                    lane = (chunk * sizeof(T) + 63) / 64 * 64;
  teams.for_each_other(rank(), size(), [&](std::size_t p, std::size_t r) {
    wire_.send(r, reinterpret_cast<const std::byte*>(all + p * count), count * sizeof(T));
    wire_.expect(r);
  });
  // The peers' chunks lie side by side in staging; this rank's own summands are read in place.
  // One chunk is summed at a time.
  const auto lane_of = [&](std::size_t p) { return staging + (p < here ? p : p - 1) * lane; };
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t now = chunk < count - at ? chunk : count - at;
    teams.for_each_other(rank(), size(),
                         [&](std::size_t p, std::size_t r) { wire_.window(r, lane_of(p), now * sizeof(T)); });
    wire_.run(false);
    tree_sum(
        [&](std::size_t p) { return p == here ? all + here * count + at : reinterpret_cast<const T*>(lane_of(p)); },
        members, own + at, now);
  }
  wire_.run(true);
}

#if REGIMEN_COMPILED
template void Tcp::reduce_scatter(const fp64*, fp64*, std::size_t, std::byte*, Teams);
template void Tcp::reduce_scatter(const fp32*, fp32*, std::size_t, std::byte*, Teams);
template void Tcp::reduce_scatter(const bf16*, bf16*, std::size_t, std::byte*, Teams);
template void Tcp::reduce_scatter(const fp16*, fp16*, std::size_t, std::byte*, Teams);
#endif

REGIMEN_INLINE void Tcp::barrier() {
  wire_.begin(CollectiveKind::Barrier, 0, 0);
  Teams{}.for_each_other(rank(), size(), [&](std::size_t, std::size_t r) {
    wire_.send(r, nullptr, 0);
    wire_.expect(r);
  });
  wire_.run(true);
}

REGIMEN_INLINE void Tcp::gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes,
                                Teams teams) {
  wire_.begin(kind, bytes, 0);
  std::byte* const here = all + teams.place(rank()) * bytes;
  if (own != here && bytes != 0) std::memcpy(here, own, bytes);
  teams.for_each_other(rank(), size(), [&](std::size_t p, std::size_t r) {
    wire_.send(r, here, bytes);
    wire_.expect(r);
    wire_.window(r, all + p * bytes, bytes);
  });
  wire_.run(true);
}

REGIMEN_INLINE TcpOptions tcp_options(const Membership& world, std::uint64_t fingerprint, Deadline deadline) {
  if (world.size > 1 && (world.address.empty() || world.port == 0)) {
    throw Error(world.said, "MASTER_ADDR and MASTER_PORT, where rank 0 is to be found",
                world.address.empty() ? "no MASTER_ADDR" : "no MASTER_PORT", "set both, the same for all ranks");
  }
  return {.rank = world.rank,
          .size = world.size,
          .address = world.address,
          .port = world.port,
          .fingerprint = fingerprint,
          .deadline = deadline,
          .secret = secret_of_environment()};
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
