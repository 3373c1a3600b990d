// regimen/comm/launch_processes.ipp — the bodies of launch_processes.hpp.
#pragma once

#include <regimen/comm/detail/socket.hpp>
#include <regimen/comm/launch_processes.hpp>
#include <regimen/comm/rendezvous.hpp>
#include <regimen/core/error.hpp>

#include <fcntl.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace regimen::comm::detail {

/// The processes that launch_processes started, one for each rank. A process says why it failed.
class Children final {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const Process& one : children_) one.child->kill();  // all, before the first is waited for
  }

  void add(const Run& run, const std::function<std::string()>& body) {
    children_.push_back({std::make_unique<Child>(
        "launch_processes", "a process for rank " + std::to_string(children_.size()), false, run, body)});
  }

  /// Waits for all processes. After one has failed, the others have `patience` to notice, then they are killed. Returns
  /// the failures, causes first; empty if there were none.
  std::string wait(std::chrono::milliseconds patience) {
    Clock::time_point until = (Clock::time_point::max)();
    std::string causes, consequences;
    for (std::size_t left = children_.size(); left > 0;) {
      bool any = false;
      for (std::size_t rank = 0; rank < children_.size(); ++rank) {
        Process& one = children_[rank];
        if (one.has_ended || !one.child->has_ended()) continue;
        one.has_ended = any = true;
        --left;
        if (!one.child->has_failed()) continue;
        until = (std::min)(until, end_of(patience));
        std::string& list = one.child->signal() != 0 && !one.given_up ? causes : consequences;
        list += (list.empty() ? "rank " : "; rank ") + std::to_string(rank) + words(one);
      }
      if (any || left == 0) continue;
      if (Clock::now() >= until) {
        for (Process& one : children_) {
          if (one.has_ended) continue;
          one.given_up = true;
          one.child->kill();
        }
        until = (Clock::time_point::max)();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return causes + (causes.empty() || consequences.empty() ? "" : "; ") + consequences;
  }

 private:
  struct Process {
    std::unique_ptr<Child> child;
    bool has_ended = false, given_up = false;
  };

  static std::string words(const Process& one) {
    if (one.given_up) return " did not end and was killed";
    const bool has_said = one.child->signal() == 0 && !one.child->said().empty();
    return has_said ? " failed: " + one.child->said() : " " + one.child->words();
  }

  std::vector<Process> children_;
};

REGIMEN_INLINE void run_processes(std::size_t ranks, const std::function<void(Tcp&)>& f, const Run& run,
                                  Deadline deadline, std::uint64_t fingerprint) {
  if (ranks == 0) throw Error("launch_processes", "at least one rank", "0");
  refuse_other_ranks(world_of_environment(), cure_of_own_ranks);
  Socket listener = listen_at({htonl(INADDR_LOOPBACK), 0});
  if (*listener < 0) throw Error("launch_processes", "a free port of the loopback interface", system_words(errno));
  TcpOptions options{.size = ranks,
                     .port = ntohs(address_of(*listener).port),
                     .fingerprint = fingerprint,
                     .deadline = checked(deadline),
                     .secret = std::string(32, ' ')};
  randomize(std::as_writable_bytes(std::span(options.secret)));
  Children children;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    children.add(run, [&]() -> std::string {
      options.rank = rank;
      // Only rank 0 keeps the socket; otherwise the port would stay open after rank 0 has ended.
      if (rank == 0) options.listener = ::fcntl(*listener, F_DUPFD_CLOEXEC, 0);
      { const Socket closed = std::move(listener); }
      try {
        Tcp communicator(options);
        try {
          f(communicator);
        } catch (...) {
          communicator.leave(regimen::detail::words_of(std::current_exception()));
          throw;
        }
      } catch (...) { return regimen::detail::words_of(std::current_exception()); }
      return {};
    });
  }
  { const Socket closed = std::move(listener); }
  const std::string wrong = children.wait((std::max)(deadline, Deadline(std::chrono::seconds(10))));
  if (!wrong.empty()) throw Error("launch_processes", "all " + std::to_string(ranks) + " ranks to return", wrong);
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
