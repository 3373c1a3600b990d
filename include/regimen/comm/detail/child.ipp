// regimen/comm/detail/child.ipp — the bodies of child.hpp.
#pragma once

#include <regimen/comm/detail/child.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/threads.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

namespace regimen::comm::detail {

REGIMEN_INLINE bool reap(::pid_t process, int* status) {
  ::siginfo_t ended{};
  while (::waitid(P_PID, static_cast<::id_t>(process), &ended, WEXITED | WNOWAIT) != 0)
    if (errno != EINTR) return false;
  ::unlink(("/dev/shm/__KMP_REGISTERED_LIB_" + std::to_string(process) + "_" + std::to_string(::getuid())).c_str());
  return ::waitpid(process, status, 0) == process;  // from here on another process may get this number
}

REGIMEN_INLINE void run_on_new_thread(std::size_t processes, const std::function<void()>& body) {
  std::thread([&] {
    share_processors(processes);
    body();
  }).join();
}

REGIMEN_INLINE Child::Child(const char* who, const std::string& what, bool leads_group, const Run& run,
                            const std::function<std::string()>& body)
    : leads_group_(leads_group) {
  using regimen::detail::Descriptor;
  using regimen::detail::system_words;
  int ends[2];
  // Non-blocking, for a program that the process has started may hold the other end open.
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Error(who, "a pipe", system_words(errno));
  reader_ = Descriptor(ends[0]);
  const Descriptor writer(ends[1]);
  std::fflush(nullptr);  // otherwise both processes would write the buffered text
  const ::pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw Error(who, what, system_words(errno));
  if (leads_group_) ::setpgid(process_, process_);  // here and there: whoever comes first, before it may be killed
  if (process_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  std::string said;
  try {
    run([&] { said = body(); });
  } catch (...) {  // no thread: what is behind this call is the other process's
    ::_exit(1);
  }
  const std::string_view text = std::string_view(said).substr(0, most_said);
  [[maybe_unused]] const ::ssize_t written = ::write(*writer, text.data(), text.size());
  std::fflush(nullptr);
  ::_exit(said.empty() ? 0 : 1);
}

REGIMEN_INLINE Child::~Child() {
  if (process_ <= 0) return;
  kill();
  reap(process_);
}

REGIMEN_INLINE bool Child::has_ended() {
  ::siginfo_t ended{};
  if (::waitid(P_PID, static_cast<::id_t>(process_), &ended, WEXITED | WNOWAIT | WNOHANG) != 0 ||
      ended.si_pid != process_)
    return false;
  kill();  // what it has left behind; while it is not reaped, no other group has this number
  reap(process_, &status_);
  process_ = 0;
  said_.resize(most_said);
  const ::ssize_t count = ::read(*reader_, said_.data(), said_.size());
  said_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return true;
}

REGIMEN_INLINE void Child::kill() const {
  if (process_ > 0) ::kill(leads_group_ ? -process_ : process_, SIGKILL);  // 0 would be this process's own group
}

REGIMEN_INLINE std::string Child::words() const {
  return signal() != 0 ? "was ended by signal " + std::to_string(signal()) + " (" + ::strsignal(signal()) + ")"
                       : "ended with code " + std::to_string(WEXITSTATUS(status_));
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
