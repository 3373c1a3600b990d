// regimen/service/detail/line.hpp — a trainer's connection to one worker of the data service.
#pragma once

#include <regimen/comm/detail/handshake.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/service/detail/frame.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace regimen::data::service {

using comm::detail::Clock;
using comm::detail::end_of;
using comm::detail::Socket;
using comm::detail::words;
using regimen::detail::system_words;

/// The reason that a worker is of no use now. With `expected` it never will be: its program, its files or its secret
/// are others.
class Failure final : public std::runtime_error {
 public:
  explicit Failure(const std::string& reason, std::string expected = {}, std::string cure = {})
      : std::runtime_error(regimen::detail::printable(reason)),
        expected_(std::move(expected)),
        cure_(std::move(cure)) {}

  /// The error for a worker that will not do; null for others.
  [[gnu::cold]] std::exception_ptr refusal(const std::string& address) const {
    if (expected_.empty()) return nullptr;
    return std::make_exception_ptr(Error("the data worker at " + address, expected_, what(), cure_));
  }

 private:
  std::string expected_, cure_;
};

/// All calls have a deadline, and throw Failure.
class Line final {
 public:
  explicit Line(const std::string& address) : address_(address) {
    const std::size_t colon = address.rfind(':');
    host_ = address.substr(0, colon);
    if (colon != std::string::npos)
      port_ = regimen::detail::number_of<std::uint16_t>(std::string_view(address).substr(colon + 1)).value_or(0);
    if (port_ == 0 || host_.empty())
      throw Error("Remote", "addresses of workers as host:port, such as 10.0.0.7:7000, with a port from 1 to 65535",
                  "\"" + address + "\"");
  }

  const std::string& address() const { return address_; }

  /// Connects, and proves the secret; both sides do.
  void call(const std::string& secret, comm::Deadline deadline) {
    const auto to = comm::detail::resolve(host_, port_, "a data worker's address", "correct the address");
    constexpr comm::Deadline attempt = std::chrono::seconds(1);  // somebody who listens soon accepts
    Socket socket = comm::detail::connect_to(to, end_of((std::min)(deadline, attempt)));
    if (*socket < 0) throw Failure(system_words(errno));
    {
      const std::lock_guard lock(mutex_);
      if (is_interrupted_) throw Failure("the end of this run");
      socket_ = std::move(socket);
    }
    const Clock::time_point until = end_of(deadline);
    comm::detail::Transcript transcript;
    transcript.hello = comm::detail::Hello{.fingerprint = protocol, .to = addressee, .channel = channel};
    using comm::detail::HandshakeReply;
    std::string text;
    HandshakeReply heard = comm::detail::prove(*socket_, transcript, secret, until);
    if (heard == HandshakeReply::Challenge) heard = hear(*socket_, transcript, secret, until, text);
    if (heard == HandshakeReply::Ended || heard == HandshakeReply::Part) throw ended(errno, deadline);
    if (heard == HandshakeReply::OtherBytes)
      throw Failure("other bytes", "the answer of a data worker", "another program listens there; correct the address");
    if (heard == HandshakeReply::Unproved)
      throw Failure(secret.empty() ? "that it has a REGIMEN_SECRET, and this trainer none"
                                   : "that it has another REGIMEN_SECRET than this trainer, or none",
                    "trainers and workers to know the same secret", "set REGIMEN_SECRET to the same for all");
    if (heard == HandshakeReply::Later) throw Failure(text);
    if (heard == HandshakeReply::Refusal) throw Failure(text, "a worker that takes this trainer");
  }
  /// Opens a shape of samples: which pipeline is it?
  Pipeline open(const Extents& shape, const std::string& types, comm::Deadline deadline) {
    const std::string question = packed(shape, types);
    send(frame_of(Kind::Open, 0, bytes_of(question)), question.data(), question.size(), deadline);
    const Frame frame = next(deadline);
    if (frame.kind == Kind::Failed)
      throw Failure(words_of(frame, Kind::Failed, deadline), "a worker that can serve the model's samples",
                    "serve data that fit the model");
    const std::string answer = words_of(frame, Kind::Opened, deadline);
    Pipeline pipeline{.name = {}, .from = address_, .opened = {}};
    if (!unpack(answer, pipeline.opened, pipeline.name)) throw Failure("an answer that makes no sense");
    const PipelineFacts& opened = pipeline.opened;
    if (opened.size > most_samples)
      throw Failure(std::to_string(opened.size) + " samples", "a worker of at most 2^48 samples",
                    "another program listens there; correct the address");
    if (opened.threads == 0 || opened.threads > most_threads || opened.memory < least_memory)
      throw Failure(
          std::to_string(opened.threads) + " threads and " + std::to_string(opened.memory) + " bytes of memory",
          "a worker of 1 to " + std::to_string(most_threads) + " threads and at least " + std::to_string(least_memory) +
              " bytes",
          "another program listens there; correct the address");
    return pipeline;
  }
  void ask(std::uint32_t number, std::span<const Key> keys, comm::Deadline deadline) {
    const auto bytes = std::as_bytes(keys);
    send(frame_of(Kind::Read, number, bytes), bytes.data(), bytes.size(), deadline);
  }
  /// The head of the next answer; one of the following reads the rest.
  Frame next(comm::Deadline deadline) {
    Frame frame;
    receive(&frame, sizeof frame, deadline);
    if (!frame.is_whole()) throw Failure("bytes that are no answer of a data worker");
    return frame;
  }
  /// Writes samples where they belong.
  void read(const Frame& frame, std::span<std::byte> input, std::span<std::byte> target, comm::Deadline deadline) {
    if (frame.first != input.size() || frame.bytes - frame.first != target.size())
      throw Failure("an answer of " + std::to_string(frame.bytes) + " bytes in place of " +
                    std::to_string(input.size() + target.size()));
    receive(input.data(), input.size(), deadline);
    receive(target.data(), target.size(), deadline);
    if (crc32c(input) != frame.sums[0] || crc32c(target) != frame.sums[1])
      throw Failure("an answer that was damaged on its way");
  }
  std::string words_of(const Frame& frame, Kind kind, comm::Deadline deadline) {
    if (frame.kind != kind || frame.first != frame.bytes || frame.bytes > sizeof(PipelineFacts) + most_words)
      throw Failure("an answer of another kind than was asked for");
    std::string text(frame.bytes, '\0');
    receive(text.data(), text.size(), deadline);
    if (crc32c(bytes_of(text)) != frame.sums[0]) throw Failure("an answer that was damaged on its way");
    return text;
  }
  /// While nothing is asked.
  void expect_open() const {
    if (comm::detail::is_closed(*socket_)) throw ended(0, {});
  }

  void hang_up() {
    const std::lock_guard lock(mutex_);
    const Socket closed = std::move(socket_);
  }
  /// In a fork: closes its descriptor of the connection, and says nothing on it.
  void leave() { const Socket closed = std::move(socket_); }
  /// From another thread: the calls on this connection end soon.
  void cut() {
    const std::lock_guard lock(mutex_);
    shut();
  }
  /// From another thread: all calls end soon, and no other begins.
  void interrupt() {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
    shut();
  }

 private:
  void shut() const {
    if (*socket_ >= 0) ::shutdown(*socket_, SHUT_RDWR);
  }
  static Failure ended(int code, comm::Deadline deadline) {
    if (code == 0 || code == ECONNRESET || code == EPIPE) return Failure("it hung up");
    return Failure(code == ETIMEDOUT ? "no answer within " + words(deadline) : system_words(code));
  }
  void send(const Frame& frame, const void* bytes, std::size_t count, comm::Deadline deadline) {
    const Clock::time_point until = end_of(deadline);
    if (!comm::detail::send_all(*socket_, &frame, sizeof frame, until) ||
        !comm::detail::send_all(*socket_, bytes, count, until))
      throw ended(errno, deadline);
  }
  void receive(void* bytes, std::size_t count, comm::Deadline deadline) {
    if (!comm::detail::receive_all(*socket_, bytes, count, end_of(deadline))) throw ended(errno, deadline);
  }

  std::string address_, host_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;  // another thread may interrupt
  Socket socket_;     // only its own thread changes it
  bool is_interrupted_ = false;
};

}  // namespace regimen::data::service
// SPDX-License-Identifier: Apache-2.0
