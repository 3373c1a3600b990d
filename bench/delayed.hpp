// bench/delayed.hpp — a slower link than there is, and collectives that overlap with nothing: to show what overlap is
// worth.
#pragma once

#include <regimen/comm/detail/around.hpp>

#include <chrono>
#include <cstddef>
#include <thread>

namespace bench {

/// A link as it is pretended. seconds(n) = latency + n / bandwidth for a collective in which this rank sends n bytes.
struct Link final {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes per second; 0: any number at once

  constexpr double seconds(std::size_t bytes) const {
    return latency + (bandwidth > 0 ? double(bytes) / bandwidth : 0);
  }
};

/// C behind a slower link: every collective first sleeps as long as the link takes, which costs no processor.
template <regimen::comm::Collectives C>
class Delayed final : public regimen::comm::detail::Around<Delayed<C>, C> {
 public:
  Delayed(C& inner, const Link& link) : regimen::comm::detail::Around<Delayed, C>(inner), link_(link) {}

 private:
  friend regimen::comm::detail::Around<Delayed, C>;
  void observe(regimen::comm::CollectiveKind, std::size_t sent, const auto& body) const {
    std::this_thread::sleep_for(std::chrono::duration<double>(link_.seconds(sent)));
    body();
  }

  Link link_;
};

/// C, for whose collectives a Trainer waits where it starts them: what it is without overlap.
template <regimen::comm::Collectives C>
class WaitedFor final : public regimen::comm::detail::Around<WaitedFor<C>, C> {
 public:
  static constexpr bool waits_at_start = true;
  explicit WaitedFor(C& inner) : regimen::comm::detail::Around<WaitedFor, C>(inner) {}
};

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
