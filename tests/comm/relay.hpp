// Stands between two sides of a connection: changes a byte, or lets bytes through slowly.
#pragma once

#include <regimen/comm/detail/socket.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <string>
#include <thread>

namespace test {

/// What it does to the bytes of one direction.
struct Tamper {
  static constexpr std::size_t none = (std::numeric_limits<std::size_t>::max)();
  std::size_t position = none;               // of the byte that is changed, in the first connection alone
  std::size_t piece = std::size_t{1} << 16;  // bytes that are let through at once
  std::chrono::milliseconds pause{0};        // before each piece
};

class Relay {
 public:
  /// To a port of this machine; up is from whoever calls to that port.
  Relay(std::uint16_t to, const Tamper& up, const Tamper& down)
      : to_(to), up_(up), down_(down), listener_(regimen::comm::detail::listen_at({htonl(INADDR_LOOPBACK), 0})) {
    thread_ = std::thread([this] { listen(); });
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay() {
    stop_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return ntohs(regimen::comm::detail::address_of(*listener_).port); }

  /// Bytes of the first connection so far.
  std::atomic<std::size_t> bytes_up{0}, bytes_down{0};

 private:
  using Socket = regimen::comm::detail::Socket;
  using Clock = std::chrono::steady_clock;

  void listen() {
    std::list<std::thread> connections;
    for (bool is_first = true; !stop_;) {
      if (!regimen::comm::detail::wait_for(*listener_, POLLIN, Clock::now() + std::chrono::milliseconds(10))) continue;
      regimen::comm::detail::Address from;
      Socket caller = regimen::comm::detail::accept_next(*listener_, from);
      if (*caller < 0) continue;
      connections.emplace_back([this, is_first, one = std::move(caller)] { carry(*one, is_first); });
      is_first = false;
    }
    for (std::thread& connection : connections) connection.join();
  }
  /// Until one side hangs up, which the other then sees.
  void carry(int caller, bool is_first) {
    const Socket called =
        regimen::comm::detail::connect_to({htonl(INADDR_LOOPBACK), htons(to_)}, Clock::now() + std::chrono::seconds(5));
    std::atomic<bool> ends = *called < 0;
    std::thread back([&] { pass(*called, caller, down_, is_first, bytes_down, ends); });
    pass(caller, *called, up_, is_first, bytes_up, ends);
    back.join();
    ::shutdown(caller, SHUT_RDWR);
  }
  void pass(int from, int to, const Tamper& tamper, bool is_first, std::atomic<std::size_t>& count,
            std::atomic<bool>& ends) {
    std::array<char, 1 << 16> bytes;
    for (std::size_t at = 0; !stop_ && !ends;) {
      if (!regimen::comm::detail::wait_for(from, POLLIN, Clock::now() + std::chrono::milliseconds(5))) continue;
      std::this_thread::sleep_for(tamper.pause);
      const ::ssize_t got = ::recv(from, bytes.data(), (std::min)(tamper.piece, bytes.size()), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) break;
      const std::size_t now = static_cast<std::size_t>(got);
      if (is_first && tamper.position >= at && tamper.position < at + now)
        bytes[tamper.position - at] = static_cast<char>(bytes[tamper.position - at] ^ 0x10);
      at += now;
      if (is_first) count = at;
      if (!regimen::comm::detail::send_all(to, bytes.data(), now, Clock::now() + std::chrono::seconds(20))) break;
    }
    ends = true;
  }

  const std::uint16_t to_;
  const Tamper up_, down_;
  Socket listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace test
