// regimen/comm/detail/handshake.ipp — the bodies of handshake.hpp.
#pragma once

#include <regimen/comm/detail/handshake.hpp>
#include <regimen/core/error.hpp>

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace regimen::comm::detail {

REGIMEN_INLINE Sha256& Sha256::add(const void* bytes, std::size_t count) {
  const auto* at = static_cast<const std::uint8_t*>(bytes);
  length_ += count;
  while (count > 0) {
    const std::size_t now = count < block_.size() - filled_ ? count : block_.size() - filled_;
    std::memcpy(block_.data() + filled_, at, now);
    filled_ += now;
    at += now;
    count -= now;
    if (filled_ == block_.size()) compress();
  }
  return *this;
}

REGIMEN_INLINE Digest Sha256::finish() {
  const std::uint64_t bits = 8 * length_;
  const std::uint8_t one = 0x80, zero = 0;
  add(&one, 1);
  while (filled_ != 56) add(&zero, 1);
  std::array<std::uint8_t, 8> end{};
  for (std::size_t i = 0; i < end.size(); ++i) end[i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  add(end.data(), end.size());
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
inline constexpr std::array<std::uint32_t, 64> sha256_round{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

REGIMEN_INLINE void Sha256::compress() {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t byte = 0; byte < 4; ++byte) w[i] = w[i] << 8 | block_[4 * i + byte];
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t first =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + sha256_round[i] + w[i];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const std::array<std::uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += mixed[i];
  filled_ = 0;
}

REGIMEN_INLINE Hmac::Hmac(std::string_view key) {
  std::array<std::uint8_t, 64> inner{};
  if (key.size() > inner.size()) {
    const Digest digest = Sha256().add(key.data(), key.size()).finish();
    std::memcpy(inner.data(), digest.data(), digest.size());
  } else if (!key.empty()) {
    std::memcpy(inner.data(), key.data(), key.size());
  }
  std::array<std::uint8_t, 64> outer = inner;
  for (std::uint8_t& byte : inner) byte ^= 0x36;
  for (std::uint8_t& byte : outer) byte ^= 0x5c;
  inner_.add(inner.data(), inner.size());
  outer_.add(outer.data(), outer.size());
}

REGIMEN_INLINE Hmac& Hmac::add(const void* bytes, std::size_t count) {
  inner_.add(bytes, count);
  return *this;
}

REGIMEN_INLINE Digest Hmac::finish() {
  const Digest digest = inner_.finish();
  return outer_.add(digest.data(), digest.size()).finish();
}

REGIMEN_INLINE bool is_equal(const Digest& a, const Digest& b) {
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  volatile std::uint8_t result = difference;  // keeps the compiler from leaving the loop early
  return result == 0;
}

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

REGIMEN_INLINE HandshakeReply prove(int socket, Transcript& transcript, const std::string& secret,
                                    Clock::time_point until) {
  randomize(std::as_writable_bytes(std::span(transcript.hello.nonce)));
  Challenge& challenge = transcript.challenge;
  if (!send_all(socket, &transcript.hello, sizeof(Hello), until) ||
      !receive_all(socket, &challenge, sizeof challenge, until))
    return HandshakeReply::Ended;
  if (challenge.magic != Challenge{}.magic) return HandshakeReply::OtherBytes;
  const Digest proof = transcript.proof_of_caller(secret);
  return send_all(socket, &proof, sizeof proof, until) ? HandshakeReply::Challenge : HandshakeReply::Ended;
}

REGIMEN_INLINE HandshakeReply hear(int socket, const Transcript& transcript, const std::string& secret,
                                   Clock::time_point until, std::string& body, std::optional<std::size_t> bytes) {
  Answer answer;
  if (!receive_all(socket, &answer, sizeof answer, until)) return HandshakeReply::Ended;
  if (answer.magic != Answer{}.magic || answer.bytes > 1u << 20 ||
      (answer.refused == 0 && bytes && answer.bytes != *bytes))
    return HandshakeReply::OtherBytes;
  body.resize(answer.bytes);
  if (!receive_all(socket, body.data(), body.size(), until)) return HandshakeReply::Part;
  const Digest digest = Sha256().add(body.data(), body.size()).finish();
  if (!is_equal(answer.proof, transcript.proof_of_answer(secret, answer, digest))) return HandshakeReply::Unproved;
  return answer.refused == 0             ? HandshakeReply::Welcome
         : answer.refused == Answer::now ? HandshakeReply::Later
                                         : HandshakeReply::Refusal;
}

REGIMEN_INLINE std::optional<PendingConnections::Arrival> PendingConnections::next(Clock::time_point until) {
  while (!out_of_files_) {
    const bool is_paused = Clock::now() < paused_until_;
    polls_.assign(1, {is_paused ? -1 : listener_, POLLIN, 0});
    Clock::time_point soonest = is_paused ? (std::min)(until, paused_until_) : until;
    for (const PendingConnection& one : pending_) {
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
    PendingConnection& one = pending_.emplace_back();
    one.arrival.socket = std::move(socket);
    one.arrival.from = from;
    one.until = now + patience;
  }
}

REGIMEN_INLINE PendingConnections::State PendingConnections::serve(PendingConnection& one) {
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
      send_parts(socket, {bytes_of(answer)});
      return State::goes;
    }
    if (!transcript.hello.is_ours() || transcript.hello.to != rank_) return State::goes;
    randomize(std::as_writable_bytes(std::span(transcript.challenge.nonce)));
    one.challenged = true;
    // Nothing has been sent before, so the socket's buffer has room.
    if (send_parts(socket, {bytes_of(transcript.challenge)}) != ::ssize_t{sizeof(Challenge)}) return State::goes;
  }
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
