// regimen/service/detail/host.hpp — a worker of the data service, whatever the types of its samples are.
#pragma once

#include <regimen/comm/rendezvous.hpp>
#include <regimen/core/threads.hpp>
#include <regimen/service/detail/clients.hpp>
#include <regimen/service/detail/frame.hpp>
#include <regimen/service/detail/owner.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace regimen::data {

struct ServeOptions {
  std::uint16_t port = 0;  // 0: a free one, which port() has
  std::string address{};   // where to listen, a name or an IPv4 address; empty: everywhere if there is a secret,
                           // without one on this machine only, 127.0.0.1
  std::optional<std::string> secret{};  // as REGIMEN_SECRET, which counts if this is not given: one for all ranks
  std::size_t workers = 0;              // threads that compute samples; 0: as many as processors
  std::string name{};                   // by which trainers compare workers; empty: the source's
  std::size_t memory = std::size_t{256} << 20;  // bytes of answers that are computed or being sent, at most
  std::size_t connections = 256;                // one for each rank of each trainer, at most
  comm::Deadline deadline =
      std::chrono::seconds(30);  // for a client that stops within a message, or does not read its answer
  int listener = -1;             // a socket that listens already, which is taken over
};

namespace service {

using comm::detail::Address;

/// Serves samples. One thread lets trainers in, one moves bytes, the others compute samples; so a slow or silent
/// trainer keeps nobody waiting. A stranger can cost one of the handshake's 64 connections for 10 s, and 7 KiB. The
/// extents of samples are the worker's own; a trainer's are compared with them, and used for nothing.
class Host final {
 public:
  Host(std::unique_ptr<const Samples> samples, const Extents& shape, const ServeOptions& options)
      : samples_(std::move(samples)),
        shape_(shape),
        options_(options),
        name_(options.name.empty() ? samples_->name() : options.name),
        secret_(options.secret ? *options.secret : comm::secret_of_environment()),
        threads_(options.workers == 0 ? static_cast<std::size_t>(processor_count()) : options.workers),
        opened_(checked()),
        clients_(exchange_, shape.bytes(), opened_.size, options.memory, options.connections, options.deadline) {
    listen();
    owner_.take();
    try {
      all_.emplace_back([this] { guarded([this] { admit(); }); });
      all_.emplace_back([this] { guarded([this] { clients_.run(); }); });
      for (std::size_t i = 0; i < threads_; ++i) all_.emplace_back([this] { guarded([this] { compute(); }); });
    } catch (...) {
      stop();
      join();
      throw;
    }
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  /// In a fork of the process that made it, only the descriptor that listens is closed: threads that were not copied
  /// hold the rest, such as locks, and the other process goes on serving.
  struct Delete {
    void operator()(Host* host) const {
      if (!host->owner_.is_another()) delete host;
      else const Socket closed = std::move(host->listener_);
    }
  };
  ~Host() {
    stop();
    join();
  }

  std::uint16_t port() const { return ntohs(comm::detail::address_of(*listener_).port); }
  std::uint64_t samples() const { return clients_.samples(); }

  void stop() {
    expect_owner();
    {
      const std::lock_guard lock(exchange_.mutex);
      exchange_.stop = true;
    }
    exchange_.waker.wake();
    exchange_.todo.notify_all();
    exchange_.ended.notify_all();
    exchange_.seated.notify_all();
  }
  /// Until stop(); rethrows what ended the service.
  void wait() {
    expect_owner();
    std::unique_lock lock(exchange_.mutex);
    exchange_.ended.wait(lock, [this] { return exchange_.stop; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  /// Refuses options that make no sense, and samples that cannot be read or are too large.
  PipelineFacts checked() const {
    if (threads_ > most_threads)
      throw Error("serve, workers", "at most " + std::to_string(most_threads) + " threads", std::to_string(threads_));
    if (options_.memory < least_memory)
      throw Error("serve, memory", std::to_string(least_memory) + " bytes at least", std::to_string(options_.memory));
    comm::detail::checked(options_.deadline);
    if (shape_.input == 0)
      throw Error("serve, shape", "the extents of a sample, Trainer::sample_shape()", "samples without an input");
    if (shape_.bytes() > options_.memory / 2)
      throw Error("the data service, worker of " + name_,
                  "samples of at most " + std::to_string(options_.memory / 2) + " bytes, half of .memory",
                  shape_.bytes() + 1 == 0 ? "more than can be counted" : std::to_string(shape_.bytes()),
                  "serve with more .memory");
    PipelineFacts opened = identify(*samples_, shape_);
    opened.memory = options_.memory;
    opened.threads = static_cast<std::uint32_t>(threads_);
    return opened;
  }
  void listen() {
    if (options_.listener >= 0) {
      listener_ = Socket(options_.listener);
      return;
    }
    Address at{htonl(secret_.empty() ? INADDR_LOOPBACK : INADDR_ANY), htons(options_.port)};
    if (!options_.address.empty())
      at = comm::detail::resolve(options_.address, options_.port, "serve, address", "give one of this machine's");
    listener_ = comm::detail::listen_at(at);
    if (*listener_ < 0)
      throw Error("serve, port " + std::to_string(options_.port), "a port that is free", system_words(errno),
                  "choose another port, or end the program that holds it");
  }
  void expect_owner() const {
    owner_.expect("Server", "to be used by the process that made it",
                  "make a Server after the fork, in the process that serves");
  }
  void join() {
    for (std::thread& thread : all_) thread.join();
    all_.clear();
  }
  template <class Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (...) {
      {
        const std::lock_guard lock(exchange_.mutex);
        if (!failure_) failure_ = std::current_exception();
      }
      stop();
    }
  }
  bool is_stopped() {
    const std::lock_guard lock(exchange_.mutex);
    return exchange_.stop;
  }

  // ---- who comes ----

  void admit() {
    while (!is_stopped()) {
      comm::detail::PendingConnections pending(*listener_, addressee, secret_, 64);
      while (!is_stopped() && !pending.is_out_of_files()) {
        auto arrival = pending.next(Clock::now() + std::chrono::milliseconds(100));
        if (arrival) welcome(*arrival);
      }
      if (pending.is_out_of_files()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  void welcome(comm::detail::PendingConnections::Arrival& arrival) {
    const auto& hello = arrival.transcript.hello;
    std::string problem;
    std::uint32_t refused = comm::detail::Answer::always;
    if (hello.channel != channel || hello.fingerprint != protocol)
      problem = "this worker speaks version " + std::to_string(protocol) +
                " of the data service, and the trainer version " + std::to_string(hello.fingerprint) +
                ": build both from one version of the library";
    const bool has_seat = problem.empty() && clients_.take_seat();
    if (problem.empty() && !has_seat) {
      problem = "this worker serves " + std::to_string(options_.connections) +
                " connections, as many as it was told to: end another trainer, or give it more .connections";
      refused = comm::detail::Answer::now;
    }
    comm::detail::Answer answer;
    answer.refused = problem.empty() ? 0 : refused;
    answer.bytes = static_cast<std::uint32_t>(problem.size());
    answer.proof = arrival.transcript.proof_of_answer(
        secret_, answer, comm::detail::Sha256().add(problem.data(), problem.size()).finish());
    const auto soon = Clock::now() + std::chrono::seconds(1);  // the socket's buffer has room
    if (!comm::detail::send_all(*arrival.socket, &answer, sizeof answer, soon) ||
        !comm::detail::send_all(*arrival.socket, problem.data(), problem.size(), soon) || !has_seat) {
      if (has_seat) clients_.leave_seat();
      return;
    }
    // A trainer's machine that vanishes says nothing: the system asks now and then whether it is there.
    const int on = 1, idle = 30, between = 10, times = 3;
    ::setsockopt(*arrival.socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(*arrival.socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    ::setsockopt(*arrival.socket, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    ::setsockopt(*arrival.socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    {
      const std::lock_guard lock(exchange_.mutex);
      exchange_.arrivals.push_back(std::move(arrival.socket));
    }
    exchange_.waker.wake();
  }

  // ---- samples ----

  void compute() {
    for (;;) {
      Job job;
      {
        std::unique_lock lock(exchange_.mutex);
        exchange_.todo.wait(lock, [this] { return exchange_.stop || !exchange_.jobs.empty(); });
        if (exchange_.stop) return;
        job = std::move(exchange_.jobs.front());
        exchange_.jobs.pop_front();
      }
      Reply reply;
      try {
        if (job.frame.kind == Kind::Open) open(job, reply);
        else read(job, reply);
      } catch (...) {
        reply = Reply{};
        const std::string words = regimen::detail::words_of(std::current_exception()).substr(0, most_words);
        say(job, reply, Kind::Failed, words);
      }
      reply.reserved = job.reserved;
      {
        const std::lock_guard lock(exchange_.mutex);
        exchange_.done.emplace_back(job.client, std::move(reply));
      }
      exchange_.waker.wake();
    }
  }
  static void say(const Job& job, Reply& reply, Kind kind, const std::string& text) {
    const auto bytes = bytes_of(text);
    reply.first.assign(bytes.begin(), bytes.end());
    reply.frame = frame_of(kind, job.frame.number, reply.first);
  }
  void open(const Job& job, Reply& reply) const {
    Extents shape;
    std::string types;
    unpack({reinterpret_cast<const char*>(job.payload.data()), job.payload.size()}, shape, types);
    if (types != types_)
      throw Error("the data service, worker of " + name_, "a trainer that reads " + types_, types,
                  "serve samples of the model's types");
    if (!shape_.serve(shape))
      throw Error("the data service, worker of " + name_, "a trainer whose samples have " + shape_.words(),
                  shape.words(), "serve the shape of the model that is trained, built from one version of the library");
    say(job, reply, Kind::Opened, packed(opened_, name_));
  }
  void read(const Job& job, Reply& reply) const {
    std::vector<Key> keys(job.payload.size() / sizeof(Key));
    std::memcpy(keys.data(), job.payload.data(), job.payload.size());
    reply.samples = keys.size();
    reply.first.resize(keys.size() * shape_.bytes_of_input());
    reply.second.resize(keys.size() * shape_.bytes_of_target());
    samples_->read(keys, shape_.sample_shape(), reply.first.data(), reply.second.data());
    reply.frame = frame_of(Kind::Samples, job.frame.number, reply.first, reply.second);
  }

  const std::unique_ptr<const Samples> samples_;
  const Extents shape_;
  const ServeOptions options_;
  const std::string name_, types_ = samples_->types(), secret_;
  const std::size_t threads_;
  const PipelineFacts opened_;
  Owner owner_;
  Socket listener_;
  Exchange exchange_;
  Clients clients_;
  std::exception_ptr failure_;  // guarded by the exchange's mutex
  std::vector<std::thread> all_;
};

}  // namespace service
}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
