// regimen/comm/detail/handshake.hpp — the first messages on a connection, with which a rank proves its membership; and
// SHA-256 and HMAC, of which the proofs are made.
#pragma once

#include <regimen/comm/detail/socket.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/core/compiled.hpp>

#include <poll.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regimen::comm::detail {

using Digest = std::array<std::uint8_t, 32>;

/// Computes the digest of all bytes that were added.
///
/// source  FIPS 180-4, section 6.2
/// cost    some 200 MB/s: for handshakes, not for tensors
class Sha256 final {
 public:
  Sha256& add(const void* bytes, std::size_t count);
  Digest finish();

 private:
  void compress();

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

/// HMAC-SHA-256 of all bytes that were added, under a key of any length.   source   RFC 2104
class Hmac final {
 public:
  explicit Hmac(std::string_view key);

  Hmac& add(const void* bytes, std::size_t count);
  template <class Record>
    requires std::has_unique_object_representations_v<Record>
  Hmac& add(const Record& record) {
    return add(&record, sizeof record);
  }

  Digest finish();

 private:
  Sha256 inner_, outer_;
};

/// Compares in a time that does not depend on where the digests differ.
bool is_equal(const Digest& a, const Digest& b);

using Nonce = std::array<std::uint8_t, 16>;

/// The connecting side begins:    Hello →   ← Challenge   Digest →   ← Answer
///
/// Both sides prove that they know the secret, by an HMAC over random numbers that both drew for this connection: a
/// recording of another connection is useless here, and the secret itself is never sent. Without a secret the key is
/// empty, and the HMAC proves nothing.
struct Hello final {
  std::array<char, 8> magic{'r', 'e', 'g', 'i', 'm', 'e', 'n', '3'};
  Nonce nonce{};
  std::uint64_t fingerprint = 0;
  std::uint32_t order = 0x01020304;  // another byte order counts as another program
  std::uint32_t rank = 0, size = 0;
  std::uint32_t to = 0;       // the rank that is addressed
  std::uint32_t channel = 0;  // 0 control, 1 data
  std::uint32_t port = 0;     // where this rank listens, as on the wire; in the first hello to rank 0

  bool is_ours() const { return magic == Hello{}.magic && order == Hello{}.order; }
};
struct Challenge final {
  std::array<char, 8> magic{'r', 'e', 'g', 'i', 'm', 'e', 'n', '4'};
  Nonce nonce{};
};
/// `bytes` follow: the addresses of all ranks, the reason of a refusal, or nothing.
struct Answer final {
  std::array<char, 8> magic{'r', 'e', 'g', 'i', 'm', 'e', 'n', '5'};
  static constexpr std::uint32_t always = 1, now = 2;  // how it is refused
  std::uint32_t refused = 0, bytes = 0;
  Digest proof{};
};

/// The messages that both sides of a connection have seen; each side authenticates them with the secret.
struct Transcript final {
  Hello hello;
  Challenge challenge;

  Digest proof_of_caller(const std::string& secret) const;
  /// body   the digest of the bytes after the answer
  Digest proof_of_answer(const std::string& secret, const Answer& answer, const Digest& body) const;
};

/// What a caller has heard. Later: a refusal of now, which may be a welcome to whoever calls again. Ended: errno says
/// how, 0 if the other side hung up.
enum class HandshakeReply : unsigned char { Challenge, Welcome, Refusal, Later, Unproved, OtherBytes, Part, Ended };

/// The calling side, up to its proof. The transcript's hello is complete except for its nonce. Returns Challenge, if
/// the proof was sent; OtherBytes; or Ended.
HandshakeReply prove(int socket, Transcript& transcript, const std::string& secret, Clock::time_point until);

/// The answer to a caller's proof: its body, which a refusal has, too. Waits for all bytes of a welcome; `bytes`, if
/// given, says how many it must have.
HandshakeReply hear(int socket, const Transcript& transcript, const std::string& secret, Clock::time_point until,
                    std::string& body, std::optional<std::size_t> bytes = {});

/// Connections that have not yet proved membership. All are served at once, so a silent connection delays nobody. Each
/// has `patience` and the memory of a PendingConnection. Beyond `most` connections the oldest one is closed: ranks are
/// soon done, and a rank that was closed may connect again.
class PendingConnections final {
 public:
  struct Arrival {
    Socket socket;
    Address from;
    Transcript transcript;
  };

  /// rank, secret   of the listening side
  PendingConnections(int listener, std::size_t rank, const std::string& secret, std::size_t most)
      : listener_(listener), rank_(rank), secret_(secret), most_(most) {}

  /// The next connection that has proved the secret; nothing if the time is over, or no file descriptor is left.
  std::optional<Arrival> next(Clock::time_point until);

  bool is_out_of_files() const { return out_of_files_; }
  /// "2 connections with another REGIMEN_SECRET, the last one from 10.0.0.7"; empty when there were none.
  std::string refused() const;

 private:
  static constexpr std::chrono::seconds patience{10};
  enum class State : unsigned char { waits, proved, goes };
  struct PendingConnection {
    Arrival arrival;
    Digest proof{};
    std::size_t received = 0;
    bool challenged = false;
    Clock::time_point until;
  };

  void accept_all(Clock::time_point now);

  /// Reads the bytes that have arrived, and answers.
  State serve(PendingConnection& one);

  const int listener_;
  const std::size_t rank_;
  const std::string& secret_;
  const std::size_t most_;
  std::vector<PendingConnection> pending_;  // the oldest first
  std::vector<::pollfd> polls_;
  std::size_t refused_ = 0;
  Address last_refused_;
  Clock::time_point paused_until_{};
  bool out_of_files_ = false;
};

}  // namespace regimen::comm::detail

#if !REGIMEN_COMPILED
#include <regimen/comm/detail/handshake.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
