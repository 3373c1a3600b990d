// regimen/rule/weights_match_datasets.hpp — a mixture has a weight for each dataset.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// docs/errors/data.md#weights_match_datasets
template <std::size_t Weights, class... Datasets>
struct weights_match_datasets {
  static constexpr bool holds = Weights == sizeof...(Datasets);
  struct must_hold {
    static_assert(holds, "regimen: mixture takes one weight for each dataset; write mixture({3, 1}, a, b)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
