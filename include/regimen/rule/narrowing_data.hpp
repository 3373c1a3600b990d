// regimen/rule/narrowing_data.hpp — data are not rounded silently.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// A double of 16 digits would become a float of 7. From: the data, To: what the model reads.
/// docs/errors/fit.md#narrowing_data
template <class From, class To>
struct narrowing_data {
  static constexpr bool holds = !std::is_same_v<From, fp64> || std::is_same_v<To, fp64> || !Number<To>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fp64 data would lose digits in this model; convert them to float, or compute in Precision<fp64>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
