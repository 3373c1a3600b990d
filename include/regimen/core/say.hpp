// regimen/core/say.hpp — a line for people on standard error, which ends no run when nobody reads it any more.
#pragma once

#include <cerrno>
#include <cstdio>
#include <string_view>

#include <signal.h>
#include <time.h>

namespace regimen::detail {

/// Whether all of it was written. A reader who has left a pipe (`2>&1 | head`) would end the process by SIGPIPE: here it is an error
/// like another, whatever the program does with that signal.
inline bool say(std::string_view text) {
  ::sigset_t pipe, before, pending;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const bool whole = std::fwrite(text.data(), 1, text.size(), stderr) == text.size() && std::fflush(stderr) == 0;
  if (!whole && ::sigismember(&pending, SIGPIPE) == 0) {  // ours alone is taken away
    const ::timespec now{};
    while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {}
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return whole;
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
