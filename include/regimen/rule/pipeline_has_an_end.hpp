// regimen/rule/pipeline_has_an_end.hpp — a pipeline has an end, and whoever trains on it repeats it.
#pragma once

namespace regimen::rule {

/// docs/errors/data.md#pipeline_has_an_end
template <bool has_an_end>
struct pipeline_has_an_end {
  static constexpr bool holds = has_an_end;
  struct must_hold {
    static_assert(holds, "regimen: a dataset has an end, and fit repeats it; leave repeat out, or write {.epochs = N}");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
