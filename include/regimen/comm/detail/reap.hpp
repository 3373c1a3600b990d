// regimen/comm/detail/reap.hpp — waits for processes that were started by fork.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace regimen::comm::detail {

/// waitpid, which also removes a file that LLVM's OpenMP (seen with 14) leaves behind for a process that ends without
/// exit(): a later process with the same number may be ended when it finds that file. Returns false while the process
/// runs, if options say WNOHANG.
inline bool reap(::pid_t process, int* status = nullptr, int options = 0) {
  ::siginfo_t ended{};
  while (::waitid(P_PID, static_cast<::id_t>(process), &ended, WEXITED | WNOWAIT | options) != 0)
    if (errno != EINTR) return false;
  if (ended.si_pid != process) return false;
  ::unlink(("/dev/shm/__KMP_REGISTERED_LIB_" + std::to_string(process) + "_" + std::to_string(::getuid())).c_str());
  return ::waitpid(process, status, 0) == process;  // from here on another process may get this number
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
