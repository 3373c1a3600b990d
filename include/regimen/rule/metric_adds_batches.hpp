// regimen/rule/metric_adds_batches.hpp — a metric can add the batches of this model.
#pragma once

namespace regimen::rule {

/// Batch: MetricBatch<Output, Label> of the model and its loss. Accuracy and the like need labels that are whole numbers.
/// docs/errors/metrics.md#metric_adds_batches
template <class Metric, class Batch, bool adds>
struct metric_adds_batches {
  static constexpr bool holds = adds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a metric has std::vector<double> sums and add(const MetricBatch<Output, Label>&) of this model's types");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
