// regimen/rule/trainer_is_not_copied.hpp — a Trainer is neither copied nor moved.
#pragma once

namespace regimen::rule {

/// A Trainer owns one arena, one communicator, and the collectives in flight.
/// docs/errors/trainers.md#trainer_is_not_copied
template <class Trainer, bool Copied = true>
struct trainer_is_not_copied {
  static constexpr bool holds = !Copied;
  struct must_hold {
    static_assert(
        holds, "regimen: a Trainer is neither copied nor moved; pass it by reference, or keep it in a std::unique_ptr");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
