// regimen/rule/fits_target.hpp — the plan fits the memory of the target.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Needed and There in bytes, then the largest owners as types: layers, iterations and bytes.
/// docs/errors/fits_target.md
template <std::size_t Needed, std::size_t There, class... Owners>
struct fits_target {
  static constexpr bool holds = Needed <= There;
  struct must_hold {
    static_assert(
        holds, "regimen: the plan needs more bytes than its Target has; lower Batch<N>, or add Checkpoint<Every<1>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
