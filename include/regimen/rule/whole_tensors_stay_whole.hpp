// regimen/rule/whole_tensors_stay_whole.hpp — an update rule of whole tensors needs Shard<Replicated>.
#pragma once

#include <regimen/policy/optimizer.hpp>
#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// A norm of a slice is not the norm of the tensor, and a slice of a matrix is no matrix.
/// docs/errors/whole_tensors_stay_whole.md
template <class Optimizer, class Shard>
struct whole_tensors_stay_whole {
  static constexpr bool holds =
      Shard::stage::level == 0 || !regimen::detail::sees_whole_tensors<typename Optimizer::rule>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this update rule looks at whole tensors, and Shard<...> keeps slices of them; write Shard<Replicated>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
