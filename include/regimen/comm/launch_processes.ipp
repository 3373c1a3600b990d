// regimen/comm/launch_processes.ipp — the bodies of launch_processes.hpp.
#pragma once

#include <regimen/comm/detail/reap.hpp>
#include <regimen/comm/detail/socket.hpp>
#include <regimen/comm/launch_processes.hpp>
#include <regimen/comm/rendezvous.hpp>
#include <regimen/comm/tcp.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace regimen::comm::detail {

/// The processes that launch_processes started. A process reports its failure through a pipe.
class Children final {
 public:
  explicit Children(std::size_t ranks) : children_(ranks) {}
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const Child& child : children_) {
      if (child.process > 0) ::kill(child.process, SIGKILL);
    }
    for (Child& child : children_) {
      if (child.process > 0) reap(child.process);
    }
  }

  /// Runs a body in a process of its own, on the new thread of `run`; the body returns the text of its failure, or an
  /// empty one.
  void start(std::size_t rank, const std::function<void(const std::function<void()>&)>& run,
             const std::function<std::string()>& body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error("launch_processes", "a pipe", system_words(errno));
    Socket reader(ends[0]), writer(ends[1]);
    std::fflush(nullptr);  // otherwise parent and child would both write the buffered text
    const ::pid_t parent = ::getpid(), process = ::fork();
    if (process < 0) throw Error("launch_processes", "a process for rank " + std::to_string(rank), system_words(errno));
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      std::string failure;
      run([&] { failure = body(); });
      const std::string_view text = std::string_view(failure).substr(0, 4096);  // a pipe takes as much at once
      [[maybe_unused]] const ::ssize_t said = ::write(*writer, text.data(), text.size());
      std::fflush(nullptr);
      ::_exit(failure.empty() ? 0 : 1);
    }
    children_[rank].process = process;
    children_[rank].reader = std::move(reader);
  }

  /// Waits for all processes. After one has failed, the others have `patience` to notice, then they are killed. Returns
  /// the failures, causes first; empty if there were none.
  std::string wait(std::chrono::milliseconds patience) {
    Clock::time_point until = (Clock::time_point::max)();
    std::string causes, consequences;
    for (std::size_t left = children_.size(); left > 0;) {
      bool any = false;
      for (std::size_t rank = 0; rank < children_.size(); ++rank) {
        Child& child = children_[rank];
        int status = 0;
        if (child.process <= 0 || !reap(child.process, &status, WNOHANG)) continue;
        child.process = 0;
        any = true;
        --left;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        until = (std::min)(until, end_of(patience));
        std::string& list = WIFSIGNALED(status) && !child.given_up ? causes : consequences;
        list += (list.empty() ? "" : "; ") + words(child, rank, status);
      }
      if (any || left == 0) continue;
      if (Clock::now() >= until) {
        for (Child& child : children_) {
          if (child.process <= 0) continue;
          child.given_up = true;
          ::kill(child.process, SIGKILL);
        }
        until = (Clock::time_point::max)();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return causes + (causes.empty() || consequences.empty() ? "" : "; ") + consequences;
  }

 private:
  struct Child {
    ::pid_t process = 0;
    Socket reader;
    bool given_up = false;
  };

  static std::string words(const Child& child, std::size_t rank, int status) {
    const std::string name = "rank " + std::to_string(rank);
    if (child.given_up) return name + " did not end and was killed";
    if (WIFSIGNALED(status))
      return name + " was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) +
             ")";
    std::string text(4096, ' ');
    const ::ssize_t count = ::read(*child.reader, text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return name + (text.empty() ? " ended with code " + std::to_string(WEXITSTATUS(status)) : " failed: " + text);
  }

  std::vector<Child> children_;
};

REGIMEN_INLINE void run_processes(std::size_t ranks, const std::function<void(Tcp&)>& f,
                                  const std::function<void(const std::function<void()>&)>& run, Deadline deadline,
                                  std::uint64_t fingerprint) {
  if (ranks == 0) throw Error("launch_processes", "at least one rank", "0");
  refuse_other_ranks(world_of_environment(), cure_of_own_ranks);
  Socket listener = listen_at({htonl(INADDR_LOOPBACK), 0});
  if (*listener < 0) throw Error("launch_processes", "a free port of the loopback interface", system_words(errno));
  TcpOptions options;
  options.size = ranks;
  options.port = ntohs(address_of(*listener).port);
  options.fingerprint = fingerprint;
  options.deadline = checked(deadline);
  for (const std::uint8_t byte : random_bytes<32>()) options.secret += static_cast<char>(byte);
  Children children(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    children.start(rank, run, [&]() -> std::string {
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
