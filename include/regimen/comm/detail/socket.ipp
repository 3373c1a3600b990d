// regimen/comm/detail/socket.ipp — the bodies of socket.hpp.
#pragma once

#include <regimen/comm/detail/socket.hpp>
#include <regimen/core/error.hpp>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

namespace regimen::comm::detail {

REGIMEN_INLINE int poll_time(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 1'000'000'000));
}

REGIMEN_INLINE bool wait_for(int socket, short events, Clock::time_point until) {
  for (;;) {
    ::pollfd one{socket, events, 0};
    const int ready = ::poll(&one, 1, poll_time(until));
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= until) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

REGIMEN_INLINE ::sockaddr_in native(Address from) {
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = from.host;
  address.sin_port = from.port;
  return address;
}
REGIMEN_INLINE bool Address::is_loopback() const { return (ntohl(host) >> 24) == 127; }

REGIMEN_INLINE std::string words(Address address) {
  char text[INET_ADDRSTRLEN];
  const ::in_addr native{address.host};
  return ::inet_ntop(AF_INET, &native, text, sizeof text) == nullptr ? "an unknown address" : text;
}

REGIMEN_INLINE bool is_loopback_everywhere(std::string host) {
  ::in_addr address{};
  if (::inet_aton(host.c_str(), &address) != 0) return Address{address.s_addr, 0}.is_loopback();
  for (char& letter : host) letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  if (host.ends_with('.')) host.pop_back();
  return host == "localhost" || host.ends_with(".localhost") || host == "localhost.localdomain";
}

REGIMEN_INLINE Address resolve(const std::string& host, std::uint16_t port, const char* whose, const char* cure) {
  ::addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  ::addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code != 0)
    throw Error(whose, "a host name with an IPv4 address", "\"" + host + "\" (" + ::gai_strerror(code) + ")", cure);
  const ::sockaddr_in* const address = reinterpret_cast<const ::sockaddr_in*>(found->ai_addr);
  const Address result{address->sin_addr.s_addr, htons(port)};
  ::freeaddrinfo(found);
  return result;
}

REGIMEN_INLINE void randomize(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ::ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
    else if (errno != EINTR) throw Error("getrandom", "random bytes from the system", system_words(errno));
  }
}

REGIMEN_INLINE bool is_out_of_files(int code) { return code == EMFILE || code == ENFILE; }

REGIMEN_INLINE bool is_closed(int socket) {
  char byte = 0;
  const ::ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

REGIMEN_INLINE void switch_on(int socket, int level, int option) {
  const int on = 1;
  ::setsockopt(socket, level, option, &on, sizeof on);
}

REGIMEN_INLINE Socket listen_at(Address at) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const ::sockaddr_in address = native(at);
  if (*socket < 0) return socket;
  switch_on(*socket, SOL_SOCKET, SO_REUSEADDR);  // a restart need not wait for old connections
  if (::bind(*socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(*socket, SOMAXCONN) == 0)
    return socket;
  return Socket();
}

REGIMEN_INLINE Address address_of(int socket) {
  ::sockaddr_in address{};
  ::socklen_t length = sizeof address;
  ::getsockname(socket, reinterpret_cast<::sockaddr*>(&address), &length);
  return {address.sin_addr.s_addr, address.sin_port};
}

REGIMEN_INLINE Socket accept_next(int listener, Address& from) {
  for (;;) {
    ::sockaddr_in address{};
    ::socklen_t length = sizeof address;
    Socket socket(::accept4(listener, reinterpret_cast<::sockaddr*>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (*socket < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (*socket >= 0) switch_on(*socket, IPPROTO_TCP, TCP_NODELAY);
    from = {address.sin_addr.s_addr, address.sin_port};
    return socket;
  }
}

REGIMEN_INLINE Socket connect_to(Address to, Clock::time_point until) {
  for (;;) {
    Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (*socket < 0) return socket;
    const ::sockaddr_in address = native(to);
    int code = 0;
    if (::connect(*socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) != 0) {
      code = errno;
      if (code == EINPROGRESS) {
        ::socklen_t length = sizeof code;
        if (!wait_for(*socket, POLLOUT, until)) code = ETIMEDOUT;
        else if (::getsockopt(*socket, SOL_SOCKET, SO_ERROR, &code, &length) != 0) code = errno;
      }
    }
    if (code == 0 && to.host == address_of(*socket).host && to.port == address_of(*socket).port)
      code = ECONNREFUSED;  // connected to itself
    if (code == 0) {
      switch_on(*socket, IPPROTO_TCP, TCP_NODELAY);
      return socket;
    }
    if (Clock::now() >= until) {
      errno = code;
      return Socket();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

template <class Byte, class Move>
bool move_all(int socket, Byte* bytes, std::size_t count, short event, Clock::time_point until, const Move& move) {
  while (count > 0) {
    const ::ssize_t moved = move(socket, bytes, count);
    if (moved > 0) {
      bytes += moved;
      count -= static_cast<std::size_t>(moved);
    } else if (moved == 0) {
      errno = 0;
      return false;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket, event, until)) {
        errno = ETIMEDOUT;
        return false;
      }
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}
REGIMEN_INLINE bool send_all(int socket, const void* bytes, std::size_t count, Clock::time_point until) {
  return move_all(socket, static_cast<const std::byte*>(bytes), count, POLLOUT, until,
                  [](int s, const std::byte* at, std::size_t n) { return ::send(s, at, n, MSG_NOSIGNAL); });
}
REGIMEN_INLINE bool receive_all(int socket, void* bytes, std::size_t count, Clock::time_point until) {
  return move_all(socket, static_cast<std::byte*>(bytes), count, POLLIN, until,
                  [](int s, std::byte* at, std::size_t n) { return ::recv(s, at, n, 0); });
}

REGIMEN_INLINE ::ssize_t send_parts(int socket, std::initializer_list<std::span<const std::byte>> parts,
                                    std::size_t done) {
  std::array<::iovec, 3> left{};
  ::msghdr message{};
  message.msg_iov = left.data();
  for (const std::span<const std::byte> part : parts) {
    const std::size_t sent = (std::min)(done, part.size());
    left[message.msg_iovlen++] = {const_cast<std::byte*>(part.data() + sent), part.size() - sent};
    done -= sent;
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
