// regimen/watch/metric.hpp — what a metric is, and what it sees of a batch.
#pragma once

#include <regimen/core/operation/step.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace regimen {

/// The samples of a batch, on the host, as the model answers them; of this rank.
///
///   outputs   (rows, columns)   the model's output: logits, or predictions
///   targets   as the source writes them: one for each row of classes or tokens; else (samples, target size)
///   rows      of all samples: T for each text, 1 for each vector. For a model of several outputs one row for each
///             sample, with one output behind the other
///   weights   of SampleWeighted<...>, whose targets then stand in targets as without it; else empty. weight(i) is how much target i
///             counts: |weights[i]|, or 1
template <class Output, class Label>
struct MetricBatch final {
  std::span<const Output> outputs;
  std::span<const Label> targets;
  std::size_t samples = 0, rows = 0, columns = 0;
  std::span<const float> weights{};

  double weight(std::size_t index) const { return weights.empty() ? 1 : op::count_of_weight(double(weights[index])); }
  std::span<const Output> row(std::size_t index) const { return outputs.subspan(index * columns, columns); }
};

/// A metric is a sum: it adds up numbers of every sample, and its result is a function of the sums. So the result is
/// that of all samples, whatever the batches, the ranks and the end of the data: exact for counts, other sums within
/// rounding (the sums of ranks are added in the order of ranks, the same on each).
///
///   sums            std::vector<double>; an evaluation, or fit, sets them to 0, and adds those of all ranks
///   begin(columns)  optional: called before the first batch, in place of setting them to 0; sets their number
///   add(batch)      adds to sums what a MetricBatch<Output, Label> has
///   name(), value() optional: what fit, which may be given metrics, calls the result, and the result; or in their place
///                   values(): a std::vector<MetricValue>. Without them the object alone has the result. fit refuses
///                   a name twice, and those of numbers that History and TensorBoard have anyway (loss, samples)
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

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
