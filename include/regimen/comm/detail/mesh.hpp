// regimen/comm/detail/mesh.hpp — how processes that know one address become a full mesh of connections.
#pragma once

#include <regimen/comm/detail/socket.hpp>
#include <regimen/comm/peer_error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace regimen::comm {

/// Who a process is among others, and where they meet.
struct TcpOptions final {
  std::size_t rank = 0, size = 1;
  std::string address = "127.0.0.1";  // of rank 0, a name or an IPv4 address
  std::uint16_t port = 0;             // where rank 0 listens
  std::uint64_t fingerprint = 0;      // of the program, its weights and data: ranks with another one are refused
  Deadline deadline = default_deadline;
  int listener = -1;  // rank 0 only: a socket that listens already, which is taken over; port is not used then
};

namespace detail {

/// Two connections to each other rank: one for data, one for the reason why a rank leaves, which so never stands
/// behind half a message. Empty at this rank's own place.
struct Mesh final {
  struct Peer {
    Socket data, control;
  };
  std::vector<Peer> peers;
};

/// The first words on every connection.
struct Hello final {
  std::array<char, 8> magic{'r', 'e', 'g', 'i', 'm', 'e', 'n', '1'};
  std::uint64_t fingerprint = 0;
  std::uint32_t order = 0x01020304;  // bytes of another order are another program
  std::uint32_t rank = 0, size = 0;
  std::uint32_t channel = 0;  // 0 control, 1 data
  std::uint32_t port = 0;     // where this rank listens, as on the wire; in the first hello to rank 0
  std::uint32_t unused = 0;

  bool ours() const { return magic == Hello{}.magic && order == Hello{}.order; }
};

/// Rank 0's answer: `bytes` of addresses, one a rank; or of text, why nothing comes of it.
struct Answer final {
  std::array<char, 8> magic{'r', 'e', 'g', 'i', 'm', 'e', 'n', '2'};
  std::uint32_t refused = 0, bytes = 0;
};

class Meeting final {
 public:
  explicit Meeting(const TcpOptions& options) : options_(options), until_(Clock::now() + options.deadline) { mesh_.peers.resize(options.size); }

  Mesh join() {
    if (options_.rank >= options_.size) throw Error("Tcp", "a rank below " + std::to_string(options_.size), std::to_string(options_.rank));
    if (options_.size == 1) return std::move(mesh_);
    std::vector<Address> addresses(options_.size);
    options_.rank == 0 ? gather(addresses) : introduce(addresses);
    for (std::size_t r = 0; r < options_.rank; ++r) {
      for (std::uint32_t channel = r == 0 ? 1 : 0; channel < 2; ++channel) {
        Socket socket = connect_to(addresses[r], until_);
        if (*socket < 0 || !say_hello(*socket, channel)) throw error("connecting to rank " + std::to_string(r), "it to listen", system_words(errno));
        put(r, channel, std::move(socket));
      }
    }
    accept_rest();
    return std::move(mesh_);
  }

 private:
  PeerError error(const std::string& doing, const std::string& expected, const std::string& found, const std::string& cure = {}) const {
    return PeerError(place(options_.rank, options_.size) + ", " + doing, expected, found, cure);
  }
  std::string where() const { return options_.address + ":" + std::to_string(options_.port); }

  bool say_hello(int socket, std::uint32_t channel) const {
    Hello hello;
    hello.fingerprint = options_.fingerprint;
    hello.rank = static_cast<std::uint32_t>(options_.rank);
    hello.size = static_cast<std::uint32_t>(options_.size);
    hello.channel = channel;
    hello.port = *listener_ >= 0 ? address_of(*listener_).port : 0;
    return send_all(socket, &hello, sizeof hello, until_);
  }
  /// False for strangers, who may also say nothing for long: they get a second.
  bool hear_hello(int socket, Hello& hello) const {
    return receive_all(socket, &hello, sizeof hello, (std::min)(until_, Clock::now() + std::chrono::seconds(1))) && hello.ours();
  }
  void put(std::size_t rank, std::uint32_t channel, Socket socket) {
    (channel == 0 ? mesh_.peers[rank].control : mesh_.peers[rank].data) = std::move(socket);
  }

  /// Rank 0: waits for all, compares what they are, and tells all of them the addresses, or why not.
  void gather(std::vector<Address>& addresses) {
    const Address at = options_.listener >= 0 ? Address{} : resolve(options_.address, options_.port);
    listener_ = options_.listener >= 0 ? Socket(options_.listener) : listen_at({at.loopback() ? at.host : htonl(INADDR_ANY), at.port});
    if (*listener_ < 0) {
      throw error("listening at " + where(), "a port that is free", system_words(errno),
                  "choose another MASTER_PORT, or end the program that holds it");
    }
    std::vector<std::uint64_t> fingerprints(options_.size, options_.fingerprint);
    std::vector<bool> came(options_.size, false);
    came[0] = true;
    std::vector<Socket> refused;
    std::string problem;
    Clock::time_point until = until_;
    for (std::size_t left = options_.size - 1; left > 0;) {
      Address from;
      Hello hello;
      Socket socket = accept_at(*listener_, until, from);
      if (*socket < 0) break;
      if (!hear_hello(*socket, hello) || hello.channel != 0) continue;  // a stranger
      --left;
      const std::string name = "rank " + std::to_string(hello.rank);
      std::string wrong;
      if (hello.size != options_.size)
        wrong = name + " was told of " + std::to_string(hello.size) + " ranks, rank 0 of " + std::to_string(options_.size);
      else if (hello.rank >= options_.size) wrong = "a process that says it is " + name;
      else if (came[hello.rank]) wrong = "two processes that say they are " + name;
      if (!wrong.empty()) {
        if (problem.empty()) until = (std::min)(until, Clock::now() + std::chrono::seconds(2));  // for the others to come and hear it
        problem += (problem.empty() ? "" : "; ") + wrong;
        refused.push_back(std::move(socket));
        continue;
      }
      came[hello.rank] = true;
      fingerprints[hello.rank] = hello.fingerprint;
      addresses[hello.rank] = {from.host, static_cast<std::uint16_t>(hello.port)};
      put(hello.rank, 0, std::move(socket));
    }
    const auto missing = [&](std::size_t r) { return !came[r]; };
    const auto other = [&](std::size_t r) { return fingerprints[r] != options_.fingerprint; };
    const auto any = [&](const auto& is) {
      for (std::size_t r = 0; r < options_.size; ++r) {
        if (is(r)) return true;
      }
      return false;
    };
    if (problem.empty() && any(missing)) problem = "no sign of " + ranks_where(options_.size, missing) + " within " + words(options_.deadline);
    if (problem.empty() && any(other))
      problem = ranks_where(options_.size, other) + " with another fingerprint than rank 0: another program, other weights or other data";
    Answer answer;
    answer.refused = !problem.empty();
    answer.bytes = static_cast<std::uint32_t>(problem.empty() ? addresses.size() * sizeof(Address) : problem.size());
    const void* const body = problem.empty() ? static_cast<const void*>(addresses.data()) : problem.data();
    const Clock::time_point told = Clock::now() + std::chrono::seconds(2);
    const auto tell = [&](int socket) {
      return socket < 0 || (send_all(socket, &answer, sizeof answer, told) && send_all(socket, body, answer.bytes, told));
    };
    for (const Mesh::Peer& peer : mesh_.peers) tell(*peer.control);
    for (const Socket& socket : refused) tell(*socket);
    if (!problem.empty()) throw refusal(problem);
  }

  PeerError refusal(const std::string& problem) const {
    return error("meeting at " + where(), "all ranks of one program", problem, "start all ranks with the same program, size, weights and data");
  }

  /// Other ranks: go to rank 0 and learn where everybody is.
  void introduce(std::vector<Address>& addresses) {
    const Address master = resolve(options_.address, options_.port);
    listener_ = listen_at({master.loopback() ? master.host : htonl(INADDR_ANY), 0});
    if (*listener_ < 0) throw error("listening", "a free port", system_words(errno));
    const std::string doing = "meeting rank 0 at " + where();
    Socket socket = connect_to(master, until_);
    if (*socket < 0) {
      throw error(doing, "it to listen within " + words(options_.deadline), system_words(errno),
                  "is rank 0 started, and are MASTER_ADDR and MASTER_PORT the same for all?");
    }
    Answer answer;
    if (!say_hello(*socket, 0) || !receive_all(*socket, &answer, sizeof answer, until_ + std::chrono::seconds(1))) {
      const int code = errno;
      throw error(doing, "its answer within " + words(options_.deadline), code == 0 ? "a closed connection" : system_words(code),
                  "another program may be listening there, or rank 0 has ended; see what it reports");
    }
    if (answer.magic != Answer{}.magic || answer.bytes > 1u << 20 || (answer.refused == 0 && answer.bytes != addresses.size() * sizeof(Address))) {
      throw error(doing, "the answer of this library", "other bytes", "another program listens there; choose another MASTER_PORT");
    }
    std::string text(answer.refused != 0 ? answer.bytes : 0, ' ');
    void* const body = answer.refused != 0 ? static_cast<void*>(text.data()) : addresses.data();
    if (!receive_all(*socket, body, answer.bytes, until_)) throw error(doing, "its whole answer", "a part of it", "see what rank 0 reports");
    if (answer.refused != 0) throw refusal(text);
    addresses[0] = master;
    for (Address& address : addresses) {
      if (address.loopback()) address.host = master.host;  // what rank 0 calls its own machine
    }
    put(0, 0, std::move(socket));
  }

  /// The ranks above come to this one.
  void accept_rest() {
    std::size_t left = (options_.size - 1 - options_.rank) * (options_.rank == 0 ? 1 : 2);
    while (left > 0) {
      Address from;
      Hello hello;
      Socket socket = accept_at(*listener_, until_, from);
      if (*socket < 0) {
        const auto missing = [this](std::size_t r) { return r > options_.rank && (*mesh_.peers[r].data < 0 || *mesh_.peers[r].control < 0); };
        throw error("connecting the ranks", "all to come within " + words(options_.deadline), "no sign of " + ranks_where(options_.size, missing));
      }
      if (!hear_hello(*socket, hello) || hello.fingerprint != options_.fingerprint || hello.size != options_.size) continue;
      if (hello.rank <= options_.rank || hello.rank >= options_.size || hello.channel > 1) continue;
      put(hello.rank, hello.channel, std::move(socket));
      --left;
    }
  }

  const TcpOptions& options_;
  const Clock::time_point until_;
  Socket listener_;
  Mesh mesh_;
};

}  // namespace detail
}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
