// regimen/tune/process.hpp — one trial in a process of its own: whatever happens there is an answer, not an end.
#pragma once

#include <regimen/comm/detail/new_thread.hpp>
#include <regimen/comm/detail/reap.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/mapped_file.hpp>  // Descriptor, system_words
#include <regimen/trainers/result.hpp>   // no_value
#include <regimen/tune/space.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <string_view>

namespace regimen::tune {

/// The result of a trial: smaller losses are better. accuracy is only shown, and is NaN if there is none. targets: the
/// number of targets that both are means of.
struct Score final {
  double loss = no_value, accuracy = no_value;
  std::uint64_t targets = 0;
};

namespace detail {

using regimen::detail::Descriptor;
using regimen::detail::system_words;
using Clock = std::chrono::steady_clock;

/// How a trial's process ended: `failure` is empty if it has a score.
struct Outcome final {
  Score score{};
  double seconds = 0;
  std::string failure{};
};

/// Runs a body in a forked process, as launch_processes does: on a new thread, since this process may have used OpenMP,
/// also through BLAS. What the process prints goes to a file. Destroyed, it kills and removes the process. It leads a group
/// of its own, which ends with it: programs that it has started do not stay.
class Process final {
 public:
  /// share   so many processes share the processors.   limit   in seconds; 0: none.   unused   closed in the child
  [[gnu::cold]] Process(const std::function<Score()>& body, std::size_t share, double limit, const std::string& output,
                        int unused)
      : limit_(limit), output_(output), began_(Clock::now()) {
    int ends[2];
    // Non-blocking, for a program that the trial has started may hold the other end open. An answer fits in at once.
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Error("a trial", "a pipe", system_words(errno));
    reader_ = Descriptor(ends[0]);
    Descriptor writer(ends[1]);
    std::fflush(nullptr);  // otherwise both processes would write the buffered text
    const comm::detail::NewThread thread;
    const ::pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) throw Error("a trial", "a process of its own", system_words(errno));
    if (process_ == 0) run(body, share, *writer, parent, thread, unused);
    ::setpgid(process_, process_);  // here and there: whoever comes first, the group exists before it is killed
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  [[gnu::cold]] ~Process() {
    if (process_ <= 0) return;
    kill_group();
    comm::detail::reap(process_);
  }

  /// Whether it has ended; `outcome` says how. Kills it if its time is over.
  [[gnu::cold]] bool has_ended(Outcome& outcome) {
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    if (limit_ > 0 && seconds > limit_ && !late_) {
      late_ = true;
      kill_group();
    }
    ::siginfo_t ended{};
    if (::waitid(P_PID, static_cast<::id_t>(process_), &ended, WEXITED | WNOWAIT | WNOHANG) != 0 ||
        ended.si_pid != process_)
      return false;
    kill_group();  // what it has left behind; while it is not reaped, no other group has this number
    int status = 0;
    comm::detail::reap(process_, &status);
    process_ = 0;
    outcome = {};
    outcome.seconds = seconds;
    std::string said(most_said, ' ');
    const ::ssize_t count = ::read(*reader_, said.data(), said.size());
    said.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    if (said.size() == 1 + sizeof(Score) && said[0] == has_score) {
      std::memcpy(&outcome.score, said.data() + 1, sizeof(Score));  // also of one that a signal ended just after
      if (!is_finite(outcome.score.loss)) outcome.failure = "its loss is " + text_of(outcome.score.loss);
    } else if (!said.empty()) {
      outcome.failure = said.substr(1);
    } else if (late_) {
      outcome.failure = "it had not ended after " + text_of(limit_) + " s, its limit, and was killed";
    } else if (WIFSIGNALED(status)) {
      const int number = WTERMSIG(status);
      outcome.failure = "it was ended by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")" +
                        (number == SIGKILL ? "; if nobody killed it, the machine's memory was full" : "") + "; see " +
                        output_;
    } else {
      outcome.failure =
          "it ended with code " + std::to_string(WEXITSTATUS(status)) + " and without a loss; see " + output_;
    }
    return true;
  }

 private:
  static constexpr std::size_t most_said = 4096;  // a pipe takes as much at once
  static constexpr char has_score = '+', has_failed = '-';

  void kill_group() const { ::kill(-process_, SIGKILL); }

  [[noreturn, gnu::cold]] void run(const std::function<Score()>& body, std::size_t share, int writer, ::pid_t parent,
                                   const comm::detail::NewThread& thread, int unused) const {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    if (unused >= 0) ::close(unused);
    std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the search, whose end ends this process
    {
      // When memory is full, the system ends a trial and not the search.
      const Descriptor mark(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
      [[maybe_unused]] const ::ssize_t marked = *mark < 0 ? 0 : ::write(*mark, "500", 3);
      const Descriptor file(::open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
      if (*file >= 0 && (::dup2(*file, STDOUT_FILENO) < 0 || ::dup2(*file, STDERR_FILENO) < 0)) ::_exit(1);
      // Not in the terminal's group, a process that reads from the terminal would be stopped.
      const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (*nothing >= 0 && ::dup2(*nothing, STDIN_FILENO) < 0) ::_exit(1);
      std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a crash loses no whole line
    }
    std::string said;
    thread.run(share, [&] {
      try {
        const Score score = body();
        std::array<char, sizeof(Score)> bytes{};
        std::memcpy(bytes.data(), &score, sizeof score);
        said = has_score + std::string(bytes.data(), bytes.size());
      } catch (const std::bad_alloc&) {
        said = std::string(1, has_failed) + "it had no memory left (std::bad_alloc)";
      } catch (...) { said = has_failed + regimen::detail::words_of(std::current_exception()); }
    });
    const std::string_view text = std::string_view(said).substr(0, most_said);
    [[maybe_unused]] const ::ssize_t written = ::write(writer, text.data(), text.size());
    std::fflush(nullptr);
    ::_exit(0);
  }

  double limit_;
  std::string output_;
  Clock::time_point began_;
  Descriptor reader_{};
  ::pid_t process_ = 0;
  bool late_ = false;
};

}  // namespace detail

}  // namespace regimen::tune
// SPDX-License-Identifier: Apache-2.0
