// regimen/rule/trainer_is_not_copied.hpp — a Trainer stays where it was made.
#pragma once

namespace regimen::rule {

/// Its arena, what is under way in it and its communicator are one of each.   docs/errors/trainer_is_not_copied.md
template <class Trainer, bool Copied = true>
struct trainer_is_not_copied {
  static constexpr bool holds = !Copied;
  struct must_hold {
    static_assert(holds, "regimen: a Trainer is neither copied nor moved; pass it by reference, or keep it in a std::unique_ptr");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
