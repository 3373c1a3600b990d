// regimen/rule/worker_is_told_shape.hpp — a worker of the data service knows the shape of its samples.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// What a trainer says is no extent of what the source writes.
///
///   count   shapes that the worker is given
///
/// docs/errors/trainers.md#worker_is_told_shape
template <class S, std::size_t count>
struct worker_is_told_shape {
  static constexpr bool holds = count == 1;
  struct must_hold {
    static_assert(
        holds, "regimen: a worker is told the shape of its samples; give it Trainer::sample_shape() after the source");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
