// regimen/watch/metrics.hpp — what an evaluation finds besides the loss: accuracy, top-k, perplexity, your own.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/comm/teams.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>  // ignore_index
#include <regimen/core/shape.hpp>
#include <regimen/program/forward.hpp>
#include <regimen/rule/metric_adds_batches.hpp>
#include <regimen/train/result.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace regimen {

/// The samples of a batch, on the host, as the model answers them; of this rank.
///
///   outputs   (rows, columns)   the model's output: logits, or predictions
///   targets   as the source writes them: one for each row of classes or tokens; else (samples, target size)
///   rows      of all samples: T for each text, 1 for each vector. For a model of several outputs one row for each
///             sample, with one output behind the other
template <class Output, class Label>
struct MetricBatch final {
  std::span<const Output> outputs;
  std::span<const Label> targets;
  std::size_t samples = 0, rows = 0, columns = 0;

  std::span<const Output> row(std::size_t index) const { return outputs.subspan(index * columns, columns); }
};

/// A metric is a sum: it adds up numbers of every sample, and its result is a function of the sums. So the result is
/// that of all samples, whatever the batches, the ranks and the end of the data: exact for counts, other sums within
/// rounding (the sums of ranks are added in the order of ranks, the same on each).
///
///   sums            std::vector<double>; an evaluation sets them to 0, and adds those of all ranks
///   begin(columns)  optional: called before the first batch, in place of setting them to 0; sets their number
///   add(batch)      adds to sums what a MetricBatch<Output, Label> has
///
///   struct AbsoluteError {
///     std::vector<double> sums = std::vector<double>(2);
///     void add(const MetricBatch<float, float>& batch) {
///       for (std::size_t i = 0; i < batch.targets.size(); ++i)
///         sums[0] += std::abs(batch.outputs[i] - batch.targets[i]);
///       sums[1] += double(batch.targets.size());
///     }
///     double value() const { return mean_of(sums[0], sums[1]); }
///   };
///   AbsoluteError error;
///   trainer.evaluate(test, error);
template <class M, class Output, class Label>
concept Metric = requires(M& metric, const MetricBatch<Output, Label>& batch) {
  { metric.sums } -> std::same_as<std::vector<double>&>;
  metric.add(batch);
};

namespace detail {

/// Calls f(logits, target) for each row whose target is not ignore_index.
template <class Output, std::integral Label>
void for_each_valid(const MetricBatch<Output, Label>& batch, const auto& f) {
  for (std::size_t row = 0; row < batch.rows; ++row)
    if (batch.targets[row] != ignore_index) f(batch.row(row), static_cast<std::size_t>(batch.targets[row]));
}
/// The first of the largest numbers; none if one of them is no number.
template <class Output>
std::size_t largest_of(std::span<const Output> row) {
  std::size_t largest = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (is_nan(row[i])) return row.size();
    if (row[i] > row[largest]) largest = i;
  }
  return largest;
}

}  // namespace detail

/// The share of valid rows whose largest logit, of equal ones the first, is the target's; as Evaluation::accuracy.
///
/// range    labels that are classes or tokens; a row with a NaN counts as wrong
struct Accuracy final {
  std::vector<double> sums = std::vector<double>(2);  // right, valid

  template <class Output, std::integral Label>
  void add(const MetricBatch<Output, Label>& batch) {
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target) {
      sums[0] += detail::largest_of(row) == target ? 1 : 0;
      sums[1] += 1;
    });
  }
  double value() const { return mean_of(sums[0], sums[1]); }
};

/// The share of valid rows whose target is among the K largest logits; of equal ones the first are larger. Likewise.
template <std::size_t K>
  requires(K >= 1)
struct TopK final {
  std::vector<double> sums = std::vector<double>(2);  // right, valid

  template <class Output, std::integral Label>
  void add(const MetricBatch<Output, Label>& batch) {
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target) {
      std::size_t larger = 0, nans = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        nans += is_nan(row[i]) ? 1 : 0;
        larger += row[i] > row[target] || (row[i] == row[target] && i < target) ? 1 : 0;
      }
      sums[0] += nans == 0 && larger < K ? 1 : 0;
      sums[1] += 1;
    });
  }
  double value() const { return mean_of(sums[0], sums[1]); }
};

/// exp of the mean of −log softmax(logits)[target] over valid rows: e^loss of CrossEntropy, whatever the loss is.
///
/// error    double precision, whatever the model computes in
struct Perplexity final {
  std::vector<double> sums = std::vector<double>(2);  // of the negative logarithms, valid

  template <class Output, std::integral Label>
  void add(const MetricBatch<Output, Label>& batch) {
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target) {
      double largest = double(row[0]), sum = 0;
      for (const Output logit : row) largest = (std::max)(largest, double(logit));
      for (const Output logit : row) sum += std::exp(double(logit) - largest);
      sums[0] += std::log(sum) + largest - double(row[target]);
      sums[1] += 1;
    });
  }
  double value() const { return std::exp(mean_of(sums[0], sums[1])); }
};

/// How many valid rows of each class are taken for which: count(actual, predicted). A row with a NaN is taken for none.
///
/// memory   classes² doubles; refuses more than 4096 classes
struct ConfusionMatrix final {
  std::vector<double> sums;
  std::size_t classes = 0;

  void begin(std::size_t columns) {
    if (columns > 4096)
      throw Error("ConfusionMatrix", "a model of at most 4096 classes", std::to_string(columns),
                  "PrecisionRecall needs three numbers for each class");
    classes = columns;
    sums.assign(classes * classes, 0);
  }
  template <class Output, std::integral Label>
  void add(const MetricBatch<Output, Label>& batch) {
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target) {
      const std::size_t predicted = detail::largest_of(row);
      if (predicted < classes) sums[target * classes + predicted] += 1;
    });
  }
  double count(std::size_t actual, std::size_t predicted) const { return sums.at(actual * classes + predicted); }
};

/// Of each class: how many of the rows taken for it are of it (precision), and how many of its rows are taken for it
/// (recall); f1 is their harmonic mean. NaN for a class without such rows; the means are over the other classes. A row
/// with a NaN is taken for none.
struct PrecisionRecall final {
  std::vector<double> sums;  // of each class: right, taken for it, of it

  void begin(std::size_t columns) { sums.assign(3 * columns, 0); }
  template <class Output, std::integral Label>
  void add(const MetricBatch<Output, Label>& batch) {
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target) {
      const std::size_t predicted = detail::largest_of(row);
      if (predicted == target) sums[3 * target] += 1;
      if (predicted < row.size()) sums[3 * predicted + 1] += 1;
      sums[3 * target + 2] += 1;
    });
  }
  std::size_t classes() const { return sums.size() / 3; }
  double precision(std::size_t of) const { return mean_of(sums.at(3 * of), sums.at(3 * of + 1)); }
  double recall(std::size_t of) const { return mean_of(sums.at(3 * of), sums.at(3 * of + 2)); }
  double f1(std::size_t of) const { return mean_of(2 * sums.at(3 * of), sums.at(3 * of + 1) + sums.at(3 * of + 2)); }
  double mean_precision() const {
    return mean([&](std::size_t of) { return precision(of); });
  }
  double mean_recall() const {
    return mean([&](std::size_t of) { return recall(of); });
  }
  double mean_f1() const {
    return mean([&](std::size_t of) { return f1(of); });
  }

 private:
  double mean(const auto& value) const {
    double sum = 0, count = 0;
    for (std::size_t of = 0; of < classes(); ++of)
      if (const double found = value(of); !is_nan(found)) {
        sum += found;
        count += 1;
      }
    return mean_of(sum, count);
  }
};

namespace train {

/// Metrics in an evaluation: they see each batch between the model and its loss.
template <class Session, class... Metrics>
class Measurement final {
  using Step = typename Session::Step;
  using Output = typename Step::Output;
  using Batch = MetricBatch<typename Output::Element, typename Session::Label>;
  static constexpr bool is_joined = regimen::detail::is_joined<typename Output::Shape>;
  template <class M>
  using adds = rule::metric_adds_batches<M, Batch, Metric<M, typename Output::Element, typename Session::Label>>;
  static_assert(((sizeof(typename adds<Metrics>::must_hold) > 0) && ...));
  static constexpr bool all_add = (adds<Metrics>::holds && ...);

 public:
  Measurement(Session& session, Metrics&... metrics) : metrics_(metrics...) {
    [[maybe_unused]] std::size_t columns = Output::size;
    if constexpr (!is_joined) columns = Output::columns;
    [[maybe_unused]] const auto begin = [&](auto& metric) {
      if constexpr (requires { metric.begin(columns); }) metric.begin(columns);
      else std::fill(metric.sums.begin(), metric.sums.end(), 0.0);
    };
    if constexpr (all_add) session.guarded([&] { (begin(metrics), ...); });
  }

  /// Runs the evaluation of the batch in the input.
  void add(Session& session, const auto& batch) {
    if constexpr (all_add) {
      const std::size_t output = Step::predict(session.walk, session.resident);
      outputs_.resize(batch.samples * Output::size);
      download_rows<Output>(session.walk, output, std::span(outputs_));
      Step::evaluate_output(session.walk, session.resident, output);
      Batch of{outputs_, batch.target, batch.samples, batch.samples, Output::size};
      if constexpr (!is_joined) {
        of.rows = batch.samples * Output::rows;
        of.columns = Output::columns;
      }
      std::apply([&](auto&... metric) { (metric.add(of), ...); }, metrics_);
    }
  }

  /// Adds the sums of all ranks.
  void combine(Session& session) {
    if constexpr (all_add && !Session::Sharding::alone)
      if (session.ranks() > 1)
        session.guarded(
            [&] { std::apply([&](auto&... metric) { (add_ranks(*session.control(), metric.sums), ...); }, metrics_); });
  }

 private:
  static void add_ranks(comm::Control& ranks, std::vector<double>& sums) {
    std::vector<double> all(sums.size() * ranks.size());
    ranks.all_gather(reinterpret_cast<const std::byte*>(sums.data()), reinterpret_cast<std::byte*>(all.data()),
                     sums.size() * sizeof(double), comm::Teams{});
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t i = 0; i < all.size(); ++i) sums[i % sums.size()] += all[i];
  }

  std::tuple<Metrics&...> metrics_;
  std::vector<typename Output::Element> outputs_;
};

}  // namespace train

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
