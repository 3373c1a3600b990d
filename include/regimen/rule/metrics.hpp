// regimen/rule/metrics.hpp — rules about metrics, in fit and in evaluate.
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

/// fit measures training by the metric, and each evaluation by a copy of it.   docs/errors/metrics.md#metric_is_copied
template <class Metric, bool is_copied>
struct metric_is_copied {
  static constexpr bool holds = is_copied;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit copies a metric for its evaluations, and this one cannot be copied; make it so, or give it to evaluate");
  };
};

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

/// Whoever calls evaluate reads the result in the metric.   docs/errors/metrics.md#metric_keeps_result
template <class Metric, bool stays>
struct metric_keeps_result {
  static constexpr bool holds = stays;
  struct must_hold {
    static_assert(holds,
                  "regimen: evaluate leaves its result in the metric, and this one is a temporary; pass a variable");
  };
};

/// Callback hears Measured alone; has_metric: fit was given a metric.   docs/errors/metrics.md#measured_needs_metric
template <class Callback, bool has_metric>
struct measured_needs_metric {
  static constexpr bool holds = has_metric;
  struct must_hold {
    static_assert(holds,
                  "regimen: this callback hears Measured, and fit was given no metric; add one, such as Accuracy{}");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
