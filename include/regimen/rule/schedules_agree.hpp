// regimen/rule/schedules_agree.hpp — Checkpoint has schedules that go together.
#pragma once

#include <regimen/policy/checkpoint.hpp>

#include <cstddef>

namespace regimen::rule {

/// Of two Every<N> one would be ignored; None beside another contradicts it.   docs/errors/schedules_agree.md
template <class Checkpoint>
struct schedules_agree;
template <class... Schedules>
struct schedules_agree<Checkpoint<Schedules...>> {
  static constexpr std::size_t of(detail::ScheduleKind kind) {
    return (std::size_t{0} + ... + (detail::kind_of_schedule<Schedules> == kind ? 1 : 0));
  }
  static constexpr bool holds =
      sizeof...(Schedules) == 1 ||
      (sizeof...(Schedules) == 2 && of(detail::ScheduleKind::blocks) == 1 && of(detail::ScheduleKind::layers) == 1);
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<...> takes one schedule, or Every<N> and one of Selective<...> and If<P>; keep these");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
