// regimen/comm/detail/child.hpp — a forked process that computes, and says in words how it went.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/file.hpp>  // Descriptor

#include <sys/types.h>
#include <sys/wait.h>  // of whoever reads the status

#include <cstddef>
#include <functional>
#include <string>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace regimen::comm::detail {

/// waitpid, which also removes a file that LLVM's OpenMP (seen with 14) leaves behind for a process that ends without
/// exit(): a later process with the same number may be ended when it finds that file. Returns whether it was one of
/// this process's children.
bool reap(::pid_t process, int* status = nullptr);

/// Runs a body on a new thread, as one of `processes` that share the processors, and waits for it.
void run_on_new_thread(std::size_t processes, const std::function<void()>& body);

/// Runs a body in a forked child.
using Run = std::function<void(const std::function<void()>&)>;

/// Runs a body on a new thread. OpenMP may have been used before the fork: then the child's copy of the forking thread
/// belongs to a team whose other threads do not exist, and GNU's runtime waits for them without end. A new thread
/// begins with a team of its own. OpenMP's regions get as many threads as on the thread that called this before the
/// fork, since LLVM's runtime forgets their number in the child; the library's loops get the share of one of
/// `processes`.
inline Run on_new_thread(std::size_t processes) {
#if defined(_OPENMP)  // of the program: the compiled library knows nothing of it
  return [processes, threads = omp_get_max_threads()](const std::function<void()>& body) {
    run_on_new_thread(processes, [&] {
      omp_set_num_threads(threads);
      body();
    });
  };
#else
  return [processes](const std::function<void()>& body) { run_on_new_thread(processes, body); };
#endif
}

/// A process that runs a body and ends. It is killed if this process ends, and when this object is destroyed.
class Child final {
 public:
  static constexpr std::size_t most_said = 4096;  // a pipe takes as much at once

  /// body          returns what the process says; its code is 0 if that is nothing, else 1
  /// leads_group   programs that it has started end with it
  /// who, what     for an error: who starts it, and what it is
  [[gnu::cold]] Child(const char* who, const std::string& what, bool leads_group, const Run& run,
                      const std::function<std::string()>& body);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[gnu::cold]] ~Child();

  /// Whether it has ended; from then on the other members say how.
  [[gnu::cold]] bool has_ended();
  [[gnu::cold]] void kill() const;

  bool has_failed() const { return status_ != 0; }
  /// The signal that has ended it; 0 if it was none.
  int signal() const { return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0; }
  const std::string& said() const { return said_; }
  /// "was ended by signal 9 (Killed)", "ended with code 1"
  [[gnu::cold]] std::string words() const;

 private:
  const bool leads_group_;
  ::pid_t process_ = 0;  // 0: it has ended
  regimen::detail::Descriptor reader_;
  int status_ = 0;
  std::string said_;
};

}  // namespace regimen::comm::detail

#if !REGIMEN_COMPILED
#include <regimen/comm/detail/child.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
