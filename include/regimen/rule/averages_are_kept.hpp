// regimen/rule/averages_are_kept.hpp — with_average and save_average need Averaged.
#pragma once

namespace regimen::rule {

/// Kept: whether UpdateRule, or that of a group, is Averaged<...>.   docs/errors/trainers.md#averages_are_kept
template <class UpdateRule, bool Kept = false>
struct averages_are_kept {
  static constexpr bool holds = Kept;
  struct must_hold {
    static_assert(holds, "regimen: this Trainer keeps no averages of weights; write Optimizer<Averaged<AdamW>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
