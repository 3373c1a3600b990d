// regimen/watch/metric.hpp — the concept of a metric, and its view of a batch.
#pragma once

#include <regimen/core/operation/step.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace regimen {

/// The samples of a batch of this rank, with the model's outputs, on the host.
///
///   outputs   (rows, columns)   the model's output: logits, or predictions
///   targets   from the source: one for each row of classes or tokens; else (samples, target size)
///   rows      of all samples: T for each text, 1 for each vector. For a model of several outputs one row for each
///             sample, with one output after the other
///   weights   of SampleWeighted<...>; else empty. `targets` has the targets without weights. Target i counts with
///             weight(i): |weights[i]|, or 1
template <class Output, class Label>
struct MetricBatch final {
  std::span<const Output> outputs;
  std::span<const Label> targets;
  std::size_t samples = 0, rows = 0, columns = 0;
  std::span<const float> weights{};

  double weight(std::size_t index) const { return weights.empty() ? 1 : op::count_of_weight(double(weights[index])); }
  std::span<const Output> row(std::size_t index) const { return outputs.subspan(index * columns, columns); }
};

/// A metric is a sum: it adds up numbers of every sample, and its result is a function of the sums. So the result does
/// not depend on batches and ranks: not at all for counts, and within rounding for other sums (each rank adds the sums
/// of all ranks in the order of ranks).
///
///   sums            std::vector<double>; an evaluation, or fit, sets them to 0, and adds the sums of all ranks
///   begin(columns)  optional: called before the first batch, instead of setting sums to 0; sets their number
///   add(batch)      adds the numbers of a MetricBatch<Output, Label> to sums
///   name(), value() optional: the name of the result for fit, and the result; or values(), a std::vector<MetricValue>.
///                   Without them only the object has the result. fit refuses two metrics of one name, and names that
///                   History and TensorBoard use themselves (loss, samples)
///
///   struct AbsoluteError {
///     std::vector<double> sums = std::vector<double>(2);
///     void add(const MetricBatch<float, float>& batch) {
///       for (std::size_t i = 0; i < batch.targets.size(); ++i)
///         sums[0] += std::abs(batch.outputs[i] - batch.targets[i]);
///       sums[1] += double(batch.targets.size());
///     }
///     static std::string name() { return "absolute_error"; }
///     double value() const { return mean_of(sums[0], sums[1]); }
///   };
///   AbsoluteError error;        // a program that measures includes watch/metrics.hpp
///   trainer.evaluate(test, error);
///   trainer.fit(data, test, {.epochs = 3}, AbsoluteError{}, history);
template <class M, class Output, class Label>
concept Metric = requires(M& metric, const MetricBatch<Output, Label>& batch) {
  { metric.sums } -> std::same_as<std::vector<double>&>;
  metric.add(batch);
};

namespace rule {
/// Output, Label: of the model and its loss. Accuracy and the like need labels that are whole numbers.
/// docs/errors/metrics.md#metric_adds_batches
template <class M, class Output, class Label>
struct metric_adds_batches {
  static constexpr bool holds = Metric<M, Output, Label>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a metric has std::vector<double> sums and add(const MetricBatch<Output, Label>&) of this model's types");
  };
};
}  // namespace rule

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
