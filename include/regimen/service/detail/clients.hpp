// regimen/service/detail/clients.hpp — the connections of a worker of the data service, moved by one thread.
#pragma once

#include <regimen/service/detail/frame.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace regimen::data::service {

using comm::detail::Clock;
using comm::detail::end_of;
using comm::detail::Socket;
using regimen::detail::system_words;

/// Lets another thread wake one that waits in poll.
class Waker final {
 public:
  Waker() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (*event_ < 0) throw Error("the data service", "a file descriptor", system_words(errno), "raise ulimit -n");
  }
  int operator*() const { return *event_; }
  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ::ssize_t written = ::write(*event_, &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ::ssize_t read = ::read(*event_, &count, sizeof count);
  }

 private:
  Socket event_;
};

/// A request to be computed, and its answer.
struct Job {
  std::uint64_t client = 0;
  Frame frame;
  std::vector<std::byte> payload;
  std::size_t reserved = 0;
};

struct Reply {
  Frame frame;
  std::vector<std::byte> first, second;
  std::size_t reserved = 0;  // of the memory for answers
  std::size_t samples = 0;
};

/// What the threads of a worker have for each other.
struct Exchange final {
  enum class Seat : unsigned char { None, Wanted, Vacated, Kept };

  Waker waker;  // the thread that moves bytes
  std::condition_variable todo, ended, seated;
  std::mutex mutex;
  // Guarded.
  std::vector<Socket> arrivals;
  std::deque<Job> jobs;
  std::vector<std::pair<std::uint64_t, Reply>> done;
  Seat seat = Seat::None;  // for a client that waits to be let in
  bool stop = false;
};

/// Reads requests and sends answers. A request waits, with only its keys read, until there is memory for its answer. A
/// client that stops within a message, or does not read its answer in time, loses its connection. If all seats are
/// taken, a new client gets the seat of the client that has asked for nothing for the longest time, at least for the
/// deadline.
class Clients final {
 public:
  /// bytes, size   of a sample, and the number of samples      seats   connections at once
  Clients(Exchange& exchange, std::size_t bytes, std::uint64_t size, std::size_t memory, std::size_t seats,
          comm::Deadline deadline)
      : exchange_(exchange), bytes_(bytes), size_(size), memory_(memory), seats_(seats), deadline_(deadline) {}

  /// For the thread that lets trainers in, before each arrival: whether there is a seat for it, which it then has.
  bool take_seat() {
    if (count_ >= seats_) {
      std::unique_lock lock(exchange_.mutex);
      exchange_.seat = Exchange::Seat::Wanted;
      exchange_.waker.wake();
      exchange_.seated.wait_for(lock, std::chrono::seconds(1),
                                [this] { return exchange_.seat != Exchange::Seat::Wanted || exchange_.stop; });
      const bool is_vacated = exchange_.seat == Exchange::Seat::Vacated;
      exchange_.seat = Exchange::Seat::None;
      if (!is_vacated) return false;
    }
    ++count_;
    return true;
  }
  /// It did not come after all.
  void leave_seat() { --count_; }
  /// Samples that have been sent.
  std::uint64_t samples() const { return served_.load(std::memory_order_relaxed); }

  /// Until the exchange stops.
  void run() {
    std::vector<::pollfd> polls;
    std::vector<std::uint64_t> numbers;
    for (;;) {
      if (!collect()) return;
      offer_seat();
      for (auto& [number, client] : clients_)  // an answer to one that has gone had memory
        if (client.is_held) accept(number, client);
      polls.assign(1, {*exchange_.waker, POLLIN, 0});
      numbers.clear();
      Clock::time_point soonest = Clock::now() + std::chrono::seconds(60);
      for (auto& [number, client] : clients_) {
        const bool reads = !client.is_held && !client.goes && client.pending < most_pending;
        const auto events = (reads ? POLLIN : 0) | (client.replies.empty() ? 0 : POLLOUT);
        polls.push_back({*client.socket, static_cast<short>(events), 0});
        numbers.push_back(number);
        if (!client.replies.empty()) soonest = (std::min)(soonest, client.write_by);
        if (awaits(client)) soonest = (std::min)(soonest, client.read_by);
      }
      if (::poll(polls.data(), polls.size(), comm::detail::poll_time(soonest)) < 0 && errno != EINTR)
        throw Error("the data service", "poll to work", system_words(errno));
      if (polls[0].revents != 0) exchange_.waker.clear();
      const Clock::time_point now = Clock::now();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto found = clients_.find(numbers[i]);
        Client& client = found->second;
        const short events = polls[i + 1].revents;
        bool stays = (events & (POLLERR | POLLNVAL)) == 0;
        if (stays && (events & POLLOUT) != 0) stays = push(client, now);
        if (stays && (events & (POLLIN | POLLHUP)) != 0 && (polls[i + 1].events & POLLIN) != 0)
          stays = pull(numbers[i], client, now);
        if (stays && (events & POLLHUP) != 0) stays = false;
        if (stays && !client.replies.empty() && now >= client.write_by) stays = false;
        if (stays && awaits(client) && now >= client.read_by) stays = false;
        if (stays && client.goes && client.replies.empty() && client.pending == 0) stays = false;
        if (!stays) forget(found);
      }
      for (auto& [number, client] : clients_)
        if (client.is_held) accept(number, client);
    }
  }

 private:
  static constexpr std::size_t most_pending = 512, overhead = 512;

  /// A trainer. Only the thread that moves bytes knows it.
  struct Client {
    Socket socket;
    Frame frame;
    std::vector<std::byte> payload;
    std::size_t received = 0;  // of the frame and what follows it
    bool is_held = false;      // a whole request, for which there is no memory yet
    bool has_opened = false;
    std::size_t pending = 0;  // requests without an answer
    std::deque<Reply> replies;
    std::size_t sent = 0;  // of the first reply
    Clock::time_point read_by, write_by;
    Clock::time_point idle_since;  // if nothing is pending
    bool goes = false;             // when its replies are sent
  };

  /// Whether a trainer must send something by `read_by`: its request to open, or the rest of a message.
  static bool awaits(const Client& client) {
    return !client.is_held && (client.received > 0 || (!client.has_opened && client.pending == 0));
  }

  /// Ends the connection that has been idle for the longest time, if a new client waits for a seat.
  void offer_seat() {
    {
      const std::lock_guard lock(exchange_.mutex);
      if (exchange_.seat != Exchange::Seat::Wanted) return;
    }
    auto longest = clients_.end();
    for (auto client = clients_.begin(); client != clients_.end(); ++client)
      if (client->second.pending == 0 && !client->second.is_held &&
          (longest == clients_.end() || client->second.idle_since < longest->second.idle_since))
        longest = client;
    const bool vacates = longest != clients_.end() && Clock::now() >= end_of(deadline_, longest->second.idle_since);
    if (vacates) forget(longest);
    {
      const std::lock_guard lock(exchange_.mutex);
      exchange_.seat = vacates ? Exchange::Seat::Vacated : Exchange::Seat::Kept;
    }
    exchange_.seated.notify_all();
  }

  /// What the other threads have for this one; false at the end.
  bool collect() {
    std::vector<Socket> arrivals;
    std::vector<std::pair<std::uint64_t, Reply>> done;
    {
      const std::lock_guard lock(exchange_.mutex);
      if (exchange_.stop) return false;
      arrivals.swap(exchange_.arrivals);
      done.swap(exchange_.done);
    }
    const Clock::time_point now = Clock::now();
    for (Socket& socket : arrivals) {
      Client& client = clients_[next_client_++];
      client.socket = std::move(socket);
      client.read_by = end_of(deadline_, now);
      client.idle_since = now;
    }
    for (auto& [number, reply] : done) {
      const auto found = clients_.find(number);
      if (found == clients_.end()) {  // it has gone meanwhile
        reserved_ -= reply.reserved;
        continue;
      }
      Client& client = found->second;
      if (reply.frame.kind == Kind::Opened) client.has_opened = true;
      if (!client.has_opened) client.goes = true;
      if (client.replies.empty()) client.write_by = end_of(deadline_, now);
      client.replies.push_back(std::move(reply));
    }
    return true;
  }
  void forget(std::map<std::uint64_t, Client>::iterator client) {
    for (const Reply& reply : client->second.replies) reserved_ -= reply.reserved;
    {  // what nobody has begun to compute
      const std::lock_guard lock(exchange_.mutex);
      std::erase_if(exchange_.jobs, [&](const Job& job) {
        if (job.client != client->first) return false;
        reserved_ -= job.reserved;
        return true;
      });
    }
    clients_.erase(client);
    --count_;
  }

  bool push(Client& client, Clock::time_point now) {
    while (!client.replies.empty()) {
      Reply& reply = client.replies.front();
      const ::ssize_t sent = comm::detail::send_parts(
          *client.socket, {comm::detail::bytes_of(reply.frame), reply.first, reply.second}, client.sent);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      client.sent += static_cast<std::size_t>(sent);
      if (client.sent < sizeof(Frame) + reply.frame.bytes) continue;
      served_.fetch_add(reply.samples, std::memory_order_relaxed);
      reserved_ -= reply.reserved;
      client.replies.pop_front();
      client.sent = 0;
      --client.pending;
      client.write_by = end_of(deadline_, now);
      client.idle_since = now;
    }
    return true;
  }

  /// Reads what has come, and takes whole requests; false if this is no trainer, or it has gone.
  bool pull(std::uint64_t number, Client& client, Clock::time_point now) {
    while (!client.is_held && !client.goes && client.pending < most_pending) {
      const bool in_frame = client.received < sizeof(Frame);
      std::byte* const to = in_frame ? reinterpret_cast<std::byte*>(&client.frame) + client.received
                                     : client.payload.data() + (client.received - sizeof(Frame));
      const std::size_t left =
          in_frame ? sizeof(Frame) - client.received : sizeof(Frame) + client.payload.size() - client.received;
      const ::ssize_t got = ::recv(*client.socket, to, left, MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      if (got == 0) return false;
      if (client.received == 0) client.read_by = end_of(deadline_, now);
      client.received += static_cast<std::size_t>(got);
      if (client.received < sizeof(Frame)) continue;
      if (in_frame) {
        const Frame& frame = client.frame;
        const bool opens = frame.kind == Kind::Open && frame.bytes >= sizeof(Extents) &&
                           frame.bytes <= sizeof(Extents) + most_words && !client.has_opened && client.pending == 0;
        const bool asks = frame.kind == Kind::Read && client.has_opened && frame.bytes > 0 &&
                          frame.bytes <= most_bytes_asked && frame.bytes % sizeof(Key) == 0;
        if (!frame.is_whole() || frame.first != frame.bytes || (!opens && !asks)) return false;
        client.payload.resize(frame.bytes);
      }
      if (client.received < sizeof(Frame) + client.payload.size()) continue;
      if (crc32c(client.payload) != client.frame.sums[0]) return false;
      client.is_held = true;
      if (!accept(number, client)) return false;
    }
    return true;
  }
  /// A whole request becomes a job, if there is memory for its answer; it waits otherwise. False if it makes no sense.
  bool accept(std::uint64_t number, Client& client) {
    Job job;
    job.client = number;
    job.frame = client.frame;
    job.reserved = overhead + most_words;
    if (client.frame.kind == Kind::Read) {
      const std::size_t count = client.payload.size() / sizeof(Key);
      job.reserved += count * (bytes_ + sizeof(Key));  // both are bounded: see the constructor of Host
      for (std::size_t i = 0; i < count; ++i) {
        Key key;
        std::memcpy(&key, client.payload.data() + i * sizeof key, sizeof key);
        if (key.index >= size_) return false;
      }
    }
    if (job.reserved > memory_) return false;
    if (reserved_ + job.reserved > memory_) return true;
    reserved_ += job.reserved;
    job.payload = std::move(client.payload);
    client.payload = {};
    client.received = 0;
    client.is_held = false;
    ++client.pending;
    {
      const std::lock_guard lock(exchange_.mutex);
      exchange_.jobs.push_back(std::move(job));
    }
    exchange_.todo.notify_one();
    return true;
  }

  Exchange& exchange_;
  const std::size_t bytes_;
  const std::uint64_t size_;
  const std::size_t memory_, seats_;
  const comm::Deadline deadline_;
  std::map<std::uint64_t, Client> clients_;
  std::uint64_t next_client_ = 0;
  std::size_t reserved_ = 0;  // of the memory, for answers that are not sent
  std::atomic<std::uint64_t> served_{0};
  std::atomic<std::size_t> count_{0};
};

}  // namespace regimen::data::service
// SPDX-License-Identifier: Apache-2.0
