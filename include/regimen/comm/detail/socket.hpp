// regimen/comm/detail/socket.hpp — sockets whose calls all have deadlines.
#pragma once

#include <regimen/comm/peer_error.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/mapped_file.hpp>  // Descriptor, system_words

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace regimen::comm::detail {

using Socket = regimen::detail::Descriptor;
using regimen::detail::system_words;

/// Milliseconds to `until`, for poll: rounded up, never negative, never infinite.
int poll_time(Clock::time_point until);

/// Waits for `events`, those of poll; false when the time is over.
bool wait_for(int socket, short events, Clock::time_point until);

struct Address final {
  std::uint32_t host = 0;  // IPv4, as on the wire
  std::uint16_t port = 0;  // as on the wire

  bool is_loopback() const;
};

/// "10.0.0.7"
std::string words(Address address);

/// Whether `host` means loopback on every machine. A host's own name does not, even if that host resolves it to
/// 127.0.1.1, as Debian and Ubuntu do: other hosts resolve it to another address.
///
/// source  RFC 6761, section 6.3
bool is_loopback_everywhere(std::string host);

/// The IPv4 address of a host name; `whose` and `cure` are for the error. Blocks as long as the system's resolver does.
Address resolve(const std::string& host, std::uint16_t port, const char* whose = "the address of rank 0",
                const char* cure = "check MASTER_ADDR");

/// Fills bytes with random ones that nobody can guess.
void randomize(std::span<std::byte> bytes);

/// Whether the system, or this process, has no file descriptor left.
bool is_out_of_files(int code);

/// Whether the other side has closed this connection, on which no data are expected.
bool is_closed(int socket);

/// A listening socket; port 0 takes a free port. Invalid, with errno set, if the system refuses.
Socket listen_at(Address at);

Address address_of(int socket);

/// The next waiting connection, and its origin; invalid, with errno set, if there is none.
Socket accept_next(int listener, Address& from);

/// A connection to `to`, tried again until somebody listens there; invalid, with errno set, when the time is over.
Socket connect_to(Address to, Clock::time_point until);

/// Transfers all bytes, or returns false: the other side closed (errno 0), an error (errno), or a time-out (ETIMEDOUT).
bool send_all(int socket, const void* bytes, std::size_t count, Clock::time_point until);
bool receive_all(int socket, void* bytes, std::size_t count, Clock::time_point until);

/// Sends as much as the system takes now of up to three parts, one behind the other, without the first `done` bytes; as
/// ::send otherwise.
::ssize_t send_parts(int socket, std::initializer_list<std::span<const std::byte>> parts, std::size_t done = 0);
/// The bytes of an object.
template <class Record>
  requires std::has_unique_object_representations_v<Record>
std::span<const std::byte> bytes_of(const Record& record) {
  return std::as_bytes(std::span(&record, 1));
}

}  // namespace regimen::comm::detail

#if !REGIMEN_COMPILED
#include <regimen/comm/detail/socket.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
