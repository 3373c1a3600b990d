// regimen/core/say.hpp — writes a line to standard error; a closed pipe does not end the run.
#pragma once

#include <cerrno>
#include <cstdio>
#include <string_view>

#include <signal.h>
#include <time.h>

namespace regimen::detail {

/// Returns whether all of `text` was written. When the reader of a pipe is gone (`2>&1 | head`), the write fails and
/// SIGPIPE is not delivered, whatever the program does with that signal.
[[gnu::cold]] inline bool say(std::string_view text) {
  ::sigset_t pipe, before, pending;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const bool whole = std::fwrite(text.data(), 1, text.size(), stderr) == text.size() && std::fflush(stderr) == 0;
  if (!whole && ::sigismember(&pending, SIGPIPE) == 0) {  // consumes the SIGPIPE of this write, no earlier one
    const ::timespec now{};
    while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {}
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return whole;
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
