// regimen/rule/schedules_agree.hpp — Checkpoint has schedules that go together.
#pragma once

#include <regimen/policy/checkpoint.hpp>

#include <cstddef>

namespace regimen::rule {

/// Of two Every<N> one would be ignored; None beside another contradicts it; without Every<N> all blocks are whole. What
/// Offload moves is not recomputed, but for the layers that are named.
///   docs/errors/schedules_agree.md
template <class Checkpoint>
struct schedules_agree;
template <class... Schedules>
struct schedules_agree<Checkpoint<Schedules...>> {
  static constexpr std::size_t of(detail::ScheduleKind kind) {
    return (std::size_t{0} + ... + (detail::kind_of_schedule<Schedules> == kind ? 1 : 0));
  }
  static constexpr bool holds =
      of(detail::ScheduleKind::blocks) == 1
          ? of(detail::ScheduleKind::layers) <= 1 &&
                of(detail::ScheduleKind::whole) <= (Checkpoint<Schedules...>::offloads ? 0 : 1) &&
                of(detail::ScheduleKind::other) == 0
          : sizeof...(Schedules) == 1 && of(detail::ScheduleKind::whole) == 0;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint takes one schedule, or Every<N> (KeepLast<K>) or Offload with Selective<...> or If<P>; keep these");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
