// regimen/rule/metric_is_written.hpp — a metric that fit or evaluate is given can be written.
#pragma once

namespace regimen::rule {

/// A metric is a sum: batches are added to it where it stands.   docs/errors/metrics.md#metric_is_written
template <class Metric, bool is_written>
struct metric_is_written {
  static constexpr bool holds = is_written;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit and evaluate write the sums of a metric, and this one is const; pass one that is not const");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
