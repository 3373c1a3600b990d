// regimen/rule/checkpoint_is_built.hpp — refuses schedules that are declared, but not built.
#pragma once

#include <regimen/policy/checkpoint.hpp>

namespace regimen::rule {

/// The names are reserved; to accept and ignore them would be worse than an error.   docs/errors/checkpoint_is_built.md
template <class Schedule>
struct checkpoint_is_built {
  static constexpr bool holds = true;
};

template <class Schedule>
  requires std::same_as<Schedule, Offload>
struct checkpoint_is_built<Schedule> {
  static constexpr bool holds = !std::same_as<Schedule, Offload>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<Offload> is not built yet; write Checkpoint<Every<N>> or Checkpoint<Selective<...>>");
  };
};

template <std::size_t Bytes>
struct checkpoint_is_built<Budget<Bytes>> {
  static constexpr bool holds = Bytes != Bytes;
  struct must_hold {
    static_assert(holds,
                  "regimen: Checkpoint<Budget<...>> is not built yet; write Checkpoint<Every<N>> with a Target<...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
