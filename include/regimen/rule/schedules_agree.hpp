// regimen/rule/schedules_agree.hpp — Checkpoint has schedules that go together.
#pragma once

#include <regimen/policy/checkpoint.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Of two Every<N> one would be ignored; None beside another contradicts it; KeepLast<K> alone keeps all. What Offload
/// moves is not recomputed, but for the layers that are named. The schedules of KeepLast agree, too.
///   docs/errors/checkpointing.md#schedules_agree
template <class Checkpoint>
struct schedules_agree;
template <class... Schedules>
struct schedules_agree<Checkpoint<Schedules...>> {
  static constexpr std::size_t of(detail::ScheduleKind kind) {
    return (std::size_t{0} + ... + (detail::kind_of_schedule<Schedules> == kind ? 1 : 0));
  }
  static constexpr std::size_t blocks = of(detail::ScheduleKind::blocks), layers = of(detail::ScheduleKind::layers),
                               whole = of(detail::ScheduleKind::whole);
  static constexpr bool recomputes_last = !std::is_same_v<typename Checkpoint<Schedules...>::Last, Checkpoint<None>>;
  static constexpr bool holds = [] {
    if constexpr (sizeof...(Schedules) == 1 && blocks + layers + whole == 0) return true;
    else if constexpr (blocks > 1 || layers > 1 || whole > 1) return false;
    else if constexpr (blocks + layers == 0 && !recomputes_last) return false;
    else if constexpr (of(detail::ScheduleKind::other) > 0) return false;
    else if constexpr (whole == 0) return true;
    else if constexpr (Checkpoint<Schedules...>::offloads || Checkpoint<Schedules...>::Last::offloads) return false;
    else
      return !detail::has_budget<typename Checkpoint<Schedules...>::Last> &&
             schedules_agree<typename Checkpoint<Schedules...>::Last>::holds;
  }();
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint takes one of Every<N> and Offload, one of Selective<...> and If<P>, then KeepLast<K>; keep these");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
