// regimen/core/say.ipp — the bodies of say.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/say.hpp>

#include <signal.h>
#include <time.h>

#include <cerrno>
#include <cstdio>

namespace regimen::detail {

REGIMEN_INLINE bool say(std::string_view text) {
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
