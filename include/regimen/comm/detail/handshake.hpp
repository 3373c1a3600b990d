// regimen/comm/detail/handshake.hpp — the first messages on a connection, with which a rank proves its membership.
#pragma once

#include <regimen/comm/detail/sha256.hpp>
#include <regimen/comm/detail/socket.hpp>
#include <regimen/core/error.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace regimen::comm::detail {

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

  Digest proof_of_caller(const std::string& secret) const {
    return Hmac(secret).add(hello).add(challenge).add("caller", 6).finish();
  }
  /// body   the digest of the bytes after the answer
  Digest proof_of_answer(const std::string& secret, const Answer& answer, const Digest& body) const {
    return Hmac(secret)
        .add(hello)
        .add(challenge)
        .add("answer", 6)
        .add(answer.refused)
        .add(answer.bytes)
        .add(body)
        .finish();
  }
};

/// The calling side, up to its proof. The transcript's hello is complete but for its nonce. Ended: errno says how, 0 if the
/// other side hung up.
enum class Called : unsigned char { Proved, OtherBytes, Ended };
inline Called prove(int socket, Transcript& transcript, const std::string& secret, Clock::time_point until) {
  transcript.hello.nonce = random_bytes<std::tuple_size_v<Nonce>>();
  Challenge& challenge = transcript.challenge;
  if (!send_all(socket, &transcript.hello, sizeof(Hello), until) ||
      !receive_all(socket, &challenge, sizeof challenge, until))
    return Called::Ended;
  if (challenge.magic != Challenge{}.magic) return Called::OtherBytes;
  const Digest proof = transcript.proof_of_caller(secret);
  return send_all(socket, &proof, sizeof proof, until) ? Called::Proved : Called::Ended;
}

/// The answer to a caller's proof: its body, which a refusal has, too. Of a welcome all bytes are awaited, `bytes` if they
/// are given. Later: a refusal of now, which may be a welcome to whoever calls again.
enum class Heard : unsigned char { Welcome, Refusal, Later, Unproved, OtherBytes, Part, Ended };
inline Heard hear(int socket, const Transcript& transcript, const std::string& secret, Clock::time_point until,
                  std::string& body, std::optional<std::size_t> bytes = {}) {
  Answer answer;
  if (!receive_all(socket, &answer, sizeof answer, until)) return Heard::Ended;
  if (answer.magic != Answer{}.magic || answer.bytes > 1u << 20 ||
      (answer.refused == 0 && bytes && answer.bytes != *bytes))
    return Heard::OtherBytes;
  body.resize(answer.bytes);
  if (!receive_all(socket, body.data(), body.size(), until)) return Heard::Part;
  const Digest digest = Sha256().add(body.data(), body.size()).finish();
  if (!is_equal(answer.proof, transcript.proof_of_answer(secret, answer, digest))) return Heard::Unproved;
  return answer.refused == 0 ? Heard::Welcome : answer.refused == Answer::now ? Heard::Later : Heard::Refusal;
}

/// Connections that have not yet proved membership. All are served at once, so a silent connection delays nobody. Each
/// has `patience` and the memory of a Pending. Beyond `most` connections the oldest one is closed: ranks are soon done,
/// and a rank that was closed may connect again.
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
  std::optional<Arrival> next(Clock::time_point until) {
    while (!out_of_files_) {
      const bool is_paused = Clock::now() < paused_until_;
      polls_.assign(1, {is_paused ? -1 : listener_, POLLIN, 0});
      Clock::time_point soonest = is_paused ? (std::min)(until, paused_until_) : until;
      for (const Pending& one : pending_) {
        polls_.push_back({*one.arrival.socket, POLLIN, 0});
        soonest = (std::min)(soonest, one.until);
      }
      const int ready = ::poll(polls_.data(), polls_.size(), poll_time(soonest));
      if (ready < 0 && errno != EINTR) throw Error("Tcp", "poll to work", system_words(errno));
      const Clock::time_point now = Clock::now();
      if (ready <= 0 && now >= until) return std::nullopt;
      // Backwards: erasing an element does not move those before it.
      for (std::size_t i = pending_.size(); ready >= 0 && i-- > 0;) {
        const State state = polls_[i + 1].revents != 0 ? serve(pending_[i]) : State::waits;
        if (state == State::waits && now < pending_[i].until) continue;
        std::optional<Arrival> arrival;
        if (state == State::proved) arrival = std::move(pending_[i].arrival);
        pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
        if (arrival) return arrival;
      }
      if (ready > 0 && polls_[0].revents != 0) accept_all(now);
    }
    return std::nullopt;
  }

  bool is_out_of_files() const { return out_of_files_; }
  /// "2 connections with another REGIMEN_SECRET, the last one from 10.0.0.7"; empty when there were none.
  std::string refused() const {
    if (refused_ == 0) return {};
    return std::to_string(refused_) + (refused_ == 1 ? " connection" : " connections") +
           " with another REGIMEN_SECRET, or none, the last one from " + words(last_refused_);
  }

 private:
  static constexpr std::chrono::seconds patience{10};
  enum class State : unsigned char { waits, proved, goes };
  struct Pending {
    Arrival arrival;
    Digest proof{};
    std::size_t received = 0;
    bool challenged = false;
    Clock::time_point until;
  };

  void accept_all(Clock::time_point now) {
    for (;;) {
      Address from;
      Socket socket = accept_next(listener_, from);
      if (*socket < 0) {
        if (!detail::is_out_of_files(errno)) return;
        // A rank is soon done here; slow connections make room.
        if (pending_.empty()) out_of_files_ = true;
        else if (now > pending_.front().until - patience + std::chrono::seconds(1)) pending_.erase(pending_.begin());
        else paused_until_ = now + std::chrono::milliseconds(20);
        return;
      }
      if (pending_.size() >= most_) pending_.erase(pending_.begin());
      Pending& one = pending_.emplace_back();
      one.arrival.socket = std::move(socket);
      one.arrival.from = from;
      one.until = now + patience;
    }
  }

  /// Reads the bytes that have arrived, and answers.
  State serve(Pending& one) {
    const int socket = *one.arrival.socket;
    for (;;) {
      auto* const to =
          one.challenged ? one.proof.data() : reinterpret_cast<std::uint8_t*>(&one.arrival.transcript.hello);
      const std::size_t size = one.challenged ? one.proof.size() : sizeof(Hello);
      const ::ssize_t got = ::recv(socket, to + one.received, size - one.received, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::waits;
      if (got <= 0) return State::goes;
      one.received += static_cast<std::size_t>(got);
      if (one.received < size) continue;
      one.received = 0;
      Transcript& transcript = one.arrival.transcript;
      if (one.challenged) {
        if (is_equal(one.proof, transcript.proof_of_caller(secret_))) return State::proved;
        ++refused_;
        last_refused_ = one.arrival.from;
        Answer answer;  // without proof: this tells the other side that its secret differs
        answer.refused = Answer::always;
        say(socket, answer);
        return State::goes;
      }
      if (!transcript.hello.is_ours() || transcript.hello.to != rank_) return State::goes;
      transcript.challenge.nonce = random_bytes<std::tuple_size_v<Nonce>>();
      one.challenged = true;
      if (!say(socket, transcript.challenge)) return State::goes;
    }
  }
  /// Nothing has been sent before, so the socket's buffer has room.
  template <class Record>
  static bool say(int socket, const Record& record) {
    return ::send(socket, &record, sizeof record, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<::ssize_t>(sizeof record);
  }

  const int listener_;
  const std::size_t rank_;
  const std::string& secret_;
  const std::size_t most_;
  std::vector<Pending> pending_;  // the oldest first
  std::vector<::pollfd> polls_;
  std::size_t refused_ = 0;
  Address last_refused_;
  Clock::time_point paused_until_{};
  bool out_of_files_ = false;
};

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
