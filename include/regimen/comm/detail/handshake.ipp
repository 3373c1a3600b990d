// regimen/comm/detail/handshake.ipp — the bodies of handshake.hpp.
#pragma once

#include <regimen/comm/detail/handshake.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace regimen::comm::detail {

REGIMEN_INLINE bool Hello::is_ours() const { return magic == Hello{}.magic && order == Hello{}.order; }

REGIMEN_INLINE Digest Transcript::proof_of_caller(const std::string& secret) const {
  return Hmac(secret).add(hello).add(challenge).add("caller", 6).finish();
}

REGIMEN_INLINE Digest Transcript::proof_of_answer(const std::string& secret, const Answer& answer,
                                                  const Digest& body) const {
  return Hmac(secret)
      .add(hello)
      .add(challenge)
      .add("answer", 6)
      .add(answer.refused)
      .add(answer.bytes)
      .add(body)
      .finish();
}

REGIMEN_INLINE Outcome prove(int socket, Transcript& transcript, const std::string& secret, Clock::time_point until) {
  transcript.hello.nonce = random_bytes<std::tuple_size_v<Nonce>>();
  Challenge& challenge = transcript.challenge;
  if (!send_all(socket, &transcript.hello, sizeof(Hello), until) ||
      !receive_all(socket, &challenge, sizeof challenge, until))
    return Outcome::Ended;
  if (challenge.magic != Challenge{}.magic) return Outcome::OtherBytes;
  const Digest proof = transcript.proof_of_caller(secret);
  return send_all(socket, &proof, sizeof proof, until) ? Outcome::Proved : Outcome::Ended;
}

REGIMEN_INLINE Heard hear(int socket, const Transcript& transcript, const std::string& secret, Clock::time_point until,
                          std::string& body, std::optional<std::size_t> bytes) {
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

REGIMEN_INLINE std::optional<PendingConnections::Arrival> PendingConnections::next(Clock::time_point until) {
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

REGIMEN_INLINE std::string PendingConnections::refused() const {
  if (refused_ == 0) return {};
  return std::to_string(refused_) + (refused_ == 1 ? " connection" : " connections") +
         " with another REGIMEN_SECRET, or none, the last one from " + words(last_refused_);
}

REGIMEN_INLINE void PendingConnections::accept_all(Clock::time_point now) {
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

/// Nothing has been sent before, so the socket's buffer has room.
template <class Record>
bool send_now(int socket, const Record& record) {
  return ::send(socket, &record, sizeof record, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<::ssize_t>(sizeof record);
}

REGIMEN_INLINE PendingConnections::State PendingConnections::serve(Pending& one) {
  const int socket = *one.arrival.socket;
  for (;;) {
    auto* const to = one.challenged ? one.proof.data() : reinterpret_cast<std::uint8_t*>(&one.arrival.transcript.hello);
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
      send_now(socket, answer);
      return State::goes;
    }
    if (!transcript.hello.is_ours() || transcript.hello.to != rank_) return State::goes;
    transcript.challenge.nonce = random_bytes<std::tuple_size_v<Nonce>>();
    one.challenged = true;
    if (!send_now(socket, transcript.challenge)) return State::goes;
  }
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
