// regimen/service/detail/owner.hpp — the process whose threads the data service has.
#pragma once

#include <regimen/core/error.hpp>

#include <unistd.h>

#include <atomic>

namespace regimen::data::service {

/// The process whose threads serve or read. A fork of it has none, and would wait for ever.
class Owner final {
 public:
  void take() { process_ = ::getpid(); }
  /// Asked before any lock is taken, which a thread that was not copied may hold.
  bool is_another() const {
    const ::pid_t owner = process_;
    return owner != 0 && owner != ::getpid();
  }
  void expect(const char* what, const char* use, const char* cure) const {
    if (is_another()) throw Error(what, use, "a fork of it", cure);
  }

 private:
  std::atomic<::pid_t> process_{0};
};

}  // namespace regimen::data::service
// SPDX-License-Identifier: Apache-2.0
