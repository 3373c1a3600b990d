// regimen/engine/cpu/signals_wait.hpp — while a library's kernel uses the stack pointer for itself, no signal handler may run.
#pragma once

#include <initializer_list>

#include <signal.h>

namespace regimen::cpu {

/// Until the end of the scope the calling thread's handlers do not run: a signal that comes meanwhile is handled right after it, or
/// by another thread. What a thread does to itself (SIGSEGV, SIGFPE) is handled at once, as always.
///
/// cost    two calls of the system, 0.3 µs together
class SignalsWait final {
 public:
  SignalsWait() { ::pthread_sigmask(SIG_BLOCK, &from_outside(), &before_); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  static const ::sigset_t& from_outside() {
    static const ::sigset_t signals = [] {
      ::sigset_t all;
      ::sigfillset(&all);
      for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) ::sigdelset(&all, own);
      return all;
    }();
    return signals;
  }

  ::sigset_t before_;
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
