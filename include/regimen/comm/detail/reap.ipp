// regimen/comm/detail/reap.ipp — the bodies of reap.hpp.
#pragma once

#include <regimen/comm/detail/reap.hpp>
#include <regimen/core/compiled.hpp>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace regimen::comm::detail {

REGIMEN_INLINE bool reap(::pid_t process, int* status, int options) {
  ::siginfo_t ended{};
  while (::waitid(P_PID, static_cast<::id_t>(process), &ended, WEXITED | WNOWAIT | options) != 0)
    if (errno != EINTR) return false;
  if (ended.si_pid != process) return false;
  ::unlink(("/dev/shm/__KMP_REGISTERED_LIB_" + std::to_string(process) + "_" + std::to_string(::getuid())).c_str());
  return ::waitpid(process, status, 0) == process;  // from here on another process may get this number
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
