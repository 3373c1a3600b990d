// regimen/comm/detail/mesh.ipp — the bodies of mesh.hpp.
#pragma once

#include <regimen/comm/detail/handshake.hpp>
#include <regimen/comm/detail/mesh.hpp>
#include <regimen/core/error.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace regimen::comm::detail {

REGIMEN_INLINE const TcpOptions& checked(const TcpOptions& options) {
  if (options.rank >= options.size)
    throw Error("Tcp", "a rank below " + std::to_string(options.size), std::to_string(options.rank));
  if (options.size > most_tcp_ranks) {
    throw Error("Tcp", "at most " + std::to_string(most_tcp_ranks) + " ranks", std::to_string(options.size),
                "correct WORLD_SIZE");
  }
  checked(options.deadline);
  ::rlimit files{};
  const std::size_t needed =
      options.size == 1 ? 0 : 2 * (options.size - 1) + 16;  // 16: standard streams, listener, data files
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < needed) {
    throw Error(place(options.rank, options.size),
                std::to_string(needed) + " open files at least, two for each other rank",
                "a limit of " + std::to_string(files.rlim_cur), "raise it with ulimit -n");
  }
  return options;
}

/// What join_mesh does.
class Bootstrap final {
 public:
  explicit Bootstrap(const TcpOptions& options)
      : options_(checked(options)), until_(end_of(options.deadline)), peers_(options.size) {}

  std::vector<Connections> join() {
    if (options_.size == 1) return std::move(peers_);
    std::vector<Address> addresses(options_.size);
    options_.rank == 0 ? gather(addresses) : introduce(addresses);
    for (std::size_t r = 0; r < options_.rank; ++r) {
      for (std::uint32_t channel = r == 0 ? 1 : 0; channel < 2; ++channel) {
        call(addresses[r], r, channel, "connecting to rank " + std::to_string(r));
      }
    }
    accept_rest();
    return std::move(peers_);
  }

 private:
  PeerError error(const std::string& doing, const std::string& expected, const std::string& found,
                  const std::string& cure = {}) const {
    return PeerError(place(options_.rank, options_.size) + ", " + doing, expected, found, cure);
  }
  PeerError out_of_files(const std::string& doing) const {
    return error(doing, "two open files for each other rank", system_words(EMFILE), "raise the limit with ulimit -n");
  }
  std::string where() const { return options_.address + ":" + std::to_string(options_.port); }

  /// Every rank listens where any host that reaches rank 0 can reach it.
  std::uint32_t listening_host(const Address& master) const {
    return is_loopback_everywhere(options_.address) ? master.host : htonl(INADDR_ANY);
  }
  PendingConnections pending_connections() const {
    return {*listener_, options_.rank, options_.secret, options_.size + 64};
  }

  Socket& at(std::size_t rank, std::uint32_t channel) {
    return channel == 0 ? peers_[rank].control : peers_[rank].data;
  }

  /// Connects to a rank, proves the secret to it, and reads its answer into `body`. If that rank, busy with strangers,
  /// closes the connection early, connects again.
  void call(Address to, std::size_t rank, std::uint32_t channel, const std::string& doing,
            std::span<std::byte> body = {}) {
    Transcript transcript;
    transcript.hello = Hello{.fingerprint = options_.fingerprint,
                             .rank = static_cast<std::uint32_t>(options_.rank),
                             .size = static_cast<std::uint32_t>(options_.size),
                             .to = static_cast<std::uint32_t>(rank),
                             .channel = channel,
                             .port = address_of(*listener_).port};
    Socket& socket = at(rank, channel);
    HandshakeReply heard = HandshakeReply::Ended;
    for (int attempt = 1;; ++attempt) {
      socket = connect_to(to, until_);
      if (*socket < 0) {
        if (is_out_of_files(errno)) throw out_of_files(doing);
        throw error(
            doing, "it to listen within " + words(options_.deadline), system_words(errno),
            "is rank " + std::to_string(rank) + " started, and are MASTER_ADDR and MASTER_PORT the same for all?");
      }
      heard = prove(*socket, transcript, options_.secret, until_);
      const bool hung_up = heard == HandshakeReply::Ended && (errno == 0 || errno == ECONNRESET || errno == EPIPE);
      if (!hung_up || attempt == 10) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5 * attempt));
    }
    std::string text;
    if (heard == HandshakeReply::Challenge)  // a second more: the peer's deadline may have begun later
      heard = hear(*socket, transcript, options_.secret, until_ + std::chrono::seconds(1), text, body.size());
    const int code = errno;
    if (heard == HandshakeReply::Ended)
      throw error(doing, "its answer within " + words(options_.deadline),
                  code == 0 ? "a closed connection" : system_words(code),
                  "another program may be listening there, or that rank has ended; see what it reports");
    if (heard == HandshakeReply::OtherBytes)
      throw error(doing, "the answer of this library", "other bytes",
                  "another program listens there; choose another MASTER_PORT");
    if (heard == HandshakeReply::Part) throw error(doing, "its whole answer", "a part of it", "see what it reports");
    if (heard == HandshakeReply::Unproved)
      throw error(doing, "all ranks to know the same secret",
                  options_.secret.empty() ? "that it has a REGIMEN_SECRET, and this rank none"
                                          : "that it has another REGIMEN_SECRET than this rank, or none",
                  "set REGIMEN_SECRET to the same for all ranks");
    if (heard != HandshakeReply::Welcome) throw refusal(text);
    if (!body.empty()) std::memcpy(body.data(), text.data(), body.size());
  }

  PeerError refusal(const std::string& problem) const {
    return error("meeting at " + where(), "all ranks of one program", problem,
                 "start all ranks with the same program, size, weights and data");
  }

  /// Rank 0: waits for all ranks, compares their programs, and sends them the addresses, or the reason of a refusal.
  void gather(std::vector<Address>& addresses) {
    const Address master = options_.listener >= 0 ? Address{} : resolve(options_.address, options_.port);
    listener_ = options_.listener >= 0 ? Socket(options_.listener) : listen_at({listening_host(master), master.port});
    if (*listener_ < 0) {
      throw error("listening at " + where(), "a port that is free", system_words(errno),
                  "choose another MASTER_PORT, or end the program that holds it");
    }
    PendingConnections pending = pending_connections();
    std::vector<Newcomer> told(options_.size);
    std::vector<Newcomer> refused;
    std::string problem;
    Clock::time_point until = until_;
    const auto missing = [&](std::size_t r) { return r != 0 && *told[r].socket < 0; };
    for (std::size_t left = options_.size - 1; left > 0;) {
      std::optional<PendingConnections::Arrival> arrival = pending.next(until);
      if (!arrival) break;
      const Hello hello = arrival->transcript.hello;
      if (hello.channel != 0) continue;
      const std::string wrong = judge(*arrival, told);
      if (wrong.empty() && !missing(hello.rank)) ++left;  // that one gave up; this one takes its place
      Newcomer one{std::move(*arrival)};
      if (!wrong.empty()) {
        if (problem.empty())
          until = (std::min)(
              until, Clock::now() + std::chrono::seconds(2));  // so that the others can connect and read the reason
        if (refused.size() < most_refused) problem += (problem.empty() ? "" : "; ") + wrong;
        if (refused.size() < most_refused) refused.push_back(std::move(one));
        continue;
      }
      addresses[hello.rank] = {one.from.host, static_cast<std::uint16_t>(hello.port)};
      told[hello.rank] = std::move(one);
      if (--left > 0) continue;
      for (Newcomer& rank : told) {  // ranks that have disconnected meanwhile are awaited again
        if (*rank.socket < 0 || !is_closed(*rank.socket)) continue;
        rank.socket = Socket();
        ++left;
      }
    }
    const std::string absent = ranks_where(options_.size, missing),
                      others = ranks_where(options_.size, [&](std::size_t r) {
                        return r != 0 && told[r].transcript.hello.fingerprint != options_.fingerprint;
                      });
    if (problem.empty() && pending.is_out_of_files())
      problem = "rank 0 without a file descriptor for " + absent + ": raise its limit of open files (ulimit -n)";
    if (problem.empty() && !absent.empty()) {
      problem = "no sign of " + absent + " within " + words(options_.deadline);
      if (!pending.refused().empty()) problem += ", but " + pending.refused();
    }
    if (problem.empty() && !others.empty())
      problem = others + " with another fingerprint than rank 0: another program, other weights or other data";
    for (Newcomer& one : refused) told.push_back(std::move(one));
    const bool is_refused = !problem.empty();
    tell(told, is_refused, is_refused ? std::as_bytes(std::span(problem)) : std::as_bytes(std::span(addresses)));
    if (is_refused) throw refusal(problem);
    for (std::size_t r = 1; r < options_.size; ++r) at(r, 0) = std::move(told[r].socket);
  }

  /// A rank that connected to rank 0 and awaits its answer.
  struct Newcomer : PendingConnections::Arrival {
    Answer answer{};
    std::size_t sent = 0;
  };
  static constexpr std::size_t most_refused = 64;

  /// What is wrong with a newcomer, beside those that rank 0 has accepted; empty if it may join them.
  std::string judge(const PendingConnections::Arrival& newcomer, const std::vector<Newcomer>& accepted) const {
    const Hello& hello = newcomer.transcript.hello;
    const std::string name = "rank " + std::to_string(hello.rank);
    if (hello.size != options_.size)
      return name + " was told of " + std::to_string(hello.size) + " ranks, rank 0 of " + std::to_string(options_.size);
    if (hello.rank >= options_.size) return "a process that says it is " + name;
    if (hello.rank == 0) return "two processes that say they are rank 0, one of them at " + words(newcomer.from);
    const Newcomer& other = accepted[hello.rank];
    if (*other.socket < 0 || is_closed(*other.socket)) return {};
    return "two processes that say they are " + name + ", at " + words(other.from) + " and at " + words(newcomer.from);
  }

  /// Sends the same to all ranks at once: a rank that does not read delays nobody.
  void tell(std::vector<Newcomer>& all, bool refused, std::span<const std::byte> body) const {
    const Digest digest = Sha256().add(body.data(), body.size()).finish();
    const std::size_t whole = sizeof(Answer) + body.size();
    std::size_t left = 0;
    for (Newcomer& one : all) {
      if (*one.socket < 0) continue;
      one.answer.refused = refused ? Answer::always : 0;
      one.answer.bytes = static_cast<std::uint32_t>(body.size());
      one.answer.proof = one.transcript.proof_of_answer(options_.secret, one.answer, digest);
      ++left;
    }
    std::vector<::pollfd> polls(all.size());
    const Clock::time_point until = Clock::now() + std::chrono::seconds(5);
    while (left > 0) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        Newcomer& one = all[i];
        polls[i] = {-1, POLLOUT, 0};
        if (*one.socket < 0 || one.sent == whole) continue;
        const ::ssize_t sent = send_parts(*one.socket, {bytes_of(one.answer), body}, one.sent);
        const bool waits = sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
        if (sent > 0) one.sent += static_cast<std::size_t>(sent);
        else if (!waits) one.sent = whole;  // disconnected; reported as missing later
        if (one.sent == whole) --left;
        else polls[i].fd = *one.socket;
      }
      if (left > 0 && ::poll(polls.data(), polls.size(), poll_time(until)) == 0 && Clock::now() >= until) return;
    }
  }

  /// Other ranks: connect to rank 0 and read the addresses of all ranks.
  void introduce(std::vector<Address>& addresses) {
    const Address master = resolve(options_.address, options_.port);
    listener_ = listen_at({listening_host(master), 0});
    if (*listener_ < 0 && is_out_of_files(errno)) throw out_of_files("listening");
    if (*listener_ < 0) throw error("listening", "a free port", system_words(errno));
    call(master, 0, 0, "meeting rank 0 at " + where(), std::as_writable_bytes(std::span(addresses)));
    addresses[0] = master;
    for (Address& address : addresses) {
      if (address.is_loopback()) address.host = master.host;  // rank 0 sees its own machine as loopback
    }
  }

  /// The higher ranks connect to this one.
  void accept_rest() {
    PendingConnections pending = pending_connections();
    std::size_t left = (options_.size - 1 - options_.rank) * (options_.rank == 0 ? 1 : 2);
    while (left > 0) {
      std::optional<PendingConnections::Arrival> arrival = pending.next(until_);
      if (!arrival) {
        if (pending.is_out_of_files()) throw out_of_files("connecting the ranks");
        const auto missing = [this](std::size_t r) {
          return r > options_.rank && (*peers_[r].data < 0 || *peers_[r].control < 0);
        };
        throw error("connecting the ranks", "all to come within " + words(options_.deadline),
                    "no sign of " + ranks_where(options_.size, missing));
      }
      const Hello& hello = arrival->transcript.hello;
      if (hello.fingerprint != options_.fingerprint || hello.size != options_.size) continue;
      if (hello.rank <= options_.rank || hello.rank >= options_.size || hello.channel > 1) continue;
      if (options_.rank == 0 && hello.channel == 0) continue;  // too late
      Socket& seat = at(hello.rank, hello.channel);
      const bool is_free = *seat < 0;
      if (!is_free && !is_closed(*seat)) continue;  // the first connection stays
      Answer answer;
      answer.proof = arrival->transcript.proof_of_answer(options_.secret, answer, Sha256().finish());
      if (!send_all(*arrival->socket, &answer, sizeof answer, until_)) continue;
      seat = std::move(arrival->socket);
      if (is_free) --left;
    }
  }

  const TcpOptions& options_;
  const Clock::time_point until_;
  Socket listener_;
  std::vector<Connections> peers_;
};

REGIMEN_INLINE std::vector<Connections> join_mesh(const TcpOptions& options) { return Bootstrap(options).join(); }

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
