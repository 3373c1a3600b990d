// regimen/tune/process.hpp — a trial in a process of its own: a crash does not end the search.
#pragma once

#include <regimen/comm/detail/child.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/mapped_file.hpp>  // Descriptor, system_words
#include <regimen/trainers/result.hpp>   // Evaluation
#include <regimen/tune/space.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <string>

namespace regimen::tune {

/// The result of a trial: smaller losses are better. accuracy is only shown, and is NaN if there is none. targets: the
/// number of targets in both means.
using Score = Evaluation;

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
/// also through BLAS. What the process prints goes to a file. Programs that it has started end with it.
class Process final {
 public:
  /// share   processes that share the processors.   limit   in seconds; 0: none.   unused   closed in the child
  [[gnu::cold]] Process(const std::function<Score()>& body, std::size_t share, double limit, const std::string& output,
                        int unused)
      : limit_(limit),
        output_(output),
        began_(Clock::now()),
        child_("a trial", "a process of its own", true, comm::detail::on_new_thread(share), [&] {
          prepare(unused);
          return said_by(body);
        }) {}

  /// Whether it has ended; `outcome` says how. Kills it if its time is over.
  [[gnu::cold]] bool has_ended(Outcome& outcome) {
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    if (limit_ > 0 && seconds > limit_ && !late_) {
      late_ = true;
      child_.kill();
    }
    if (!child_.has_ended()) return false;
    outcome = Outcome{.seconds = seconds};
    const std::string& said = child_.said();
    if (said.size() == 1 + sizeof(Score) && said[0] == has_score) {
      std::memcpy(&outcome.score, said.data() + 1, sizeof(Score));  // also of one that a signal ended just after
      if (!is_finite(outcome.score.loss)) outcome.failure = "its loss is " + text_of(outcome.score.loss);
    } else if (!said.empty()) {
      outcome.failure = said.substr(1);
    } else if (late_) {
      outcome.failure = "it had not ended after " + text_of(limit_) + " s, its limit, and was killed";
    } else {
      outcome.failure = "it " + child_.words();
      if (child_.signal() == 0) outcome.failure += " and without a loss";
      if (child_.signal() == SIGKILL) outcome.failure += "; if nobody killed it, the machine's memory was full";
      outcome.failure += "; see " + output_;
    }
    return true;
  }

 private:
  static constexpr char has_score = '+', has_failed = '-';

  [[gnu::cold]] void prepare(int unused) const {
    if (unused >= 0) ::close(unused);
    std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the search, whose end ends this process
    // When memory is full, the system ends a trial and not the search.
    const Descriptor mark(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    [[maybe_unused]] const ::ssize_t marked = *mark < 0 ? 0 : ::write(*mark, "500", 3);
    const Descriptor file(::open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (*file >= 0 && (::dup2(*file, STDOUT_FILENO) < 0 || ::dup2(*file, STDERR_FILENO) < 0)) ::_exit(1);
    // Outside the terminal's group the system stops a process that reads from the terminal.
    const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (*nothing >= 0 && ::dup2(*nothing, STDIN_FILENO) < 0) ::_exit(1);
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a crash loses no whole line
  }
  [[gnu::cold]] static std::string said_by(const std::function<Score()>& body) {
    try {
      const Score score = body();
      std::string said(1 + sizeof score, has_score);
      std::memcpy(said.data() + 1, &score, sizeof score);
      return said;
    } catch (const std::bad_alloc&) {
      return std::string(1, has_failed) + "it had no memory left (std::bad_alloc)";
    } catch (...) { return has_failed + regimen::detail::words_of(std::current_exception()); }
  }

  double limit_;
  std::string output_;
  Clock::time_point began_;
  bool late_ = false;
  comm::detail::Child child_;
};

}  // namespace detail

}  // namespace regimen::tune
// SPDX-License-Identifier: Apache-2.0
