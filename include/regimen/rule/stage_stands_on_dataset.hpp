// regimen/rule/stage_stands_on_dataset.hpp — what stands before a stage is a dataset.
#pragma once

#include <regimen/data/dataset.hpp>

namespace regimen::rule {

/// docs/errors/data.md#stage_stands_on_dataset
template <class D>
struct stage_stands_on_dataset {
  static constexpr bool holds = data::Dataset<D>;
  struct must_hold {
    static_assert(holds,
                  "regimen: a stage stands on a dataset; give it size() const, at(data::Key) const and name() const");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
