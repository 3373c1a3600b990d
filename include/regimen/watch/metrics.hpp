// regimen/watch/metrics.hpp — metrics of an evaluation, or of training: accuracy, top-k, perplexity, your own.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>  // ignore_index
#include <regimen/trainers/result.hpp>
#include <regimen/watch/measurement.hpp>
#include <regimen/watch/metric.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace regimen {

namespace detail {

/// Calls f(logits, target, weight) for each row whose target is not ignore_index, and whose weight is not 0.
template <class Output, std::integral Label>
void for_each_valid(const MetricBatch<Output, Label>& batch, const auto& f) {
  for (std::size_t row = 0; row < batch.rows; ++row)
    if (const double weight = batch.weight(row); batch.targets[row] != ignore_index && weight != 0)
      f(batch.row(row), static_cast<std::size_t>(batch.targets[row]), weight);
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

/// The share of valid rows whose largest logit is the target's, as in Evaluation::accuracy; the first of equal logits
/// counts as the largest. Under SampleWeighted a row counts by its weight, here and in the metrics below, and does not
/// count with a weight of 0.
///
/// range    labels that are classes or tokens; a row with a NaN counts as wrong
struct Accuracy final {
  std::vector<double> sums = std::vector<double>(2);  // right, valid: their weights

  template <class Output, std::integral Label>
  void add(const MetricBatch<Output, Label>& batch) {
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target, double weight) {
      sums[0] += detail::largest_of(row) == target ? weight : 0;
      sums[1] += weight;
    });
  }
  static std::string name() { return "accuracy"; }
  double value() const { return mean_of(sums[0], sums[1]); }
};

/// The share of valid rows whose target is among the K largest logits; the first of equal logits count as larger. Range
/// and NaN as in Accuracy.
template <std::size_t K>
  requires(K >= 1)
struct TopK final {
  std::vector<double> sums = std::vector<double>(2);  // right, valid

  template <class Output, std::integral Label>
  void add(const MetricBatch<Output, Label>& batch) {
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target, double weight) {
      std::size_t larger = 0, nans = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        nans += is_nan(row[i]) ? 1 : 0;
        larger += row[i] > row[target] || (row[i] == row[target] && i < target) ? 1 : 0;
      }
      sums[0] += nans == 0 && larger < K ? weight : 0;
      sums[1] += weight;
    });
  }
  static std::string name() { return "top_" + std::to_string(K) + "_accuracy"; }
  double value() const { return mean_of(sums[0], sums[1]); }
};

/// exp of the mean of −log softmax(logits)[target] over valid rows: e^loss of CrossEntropy, whatever the loss is.
///
/// error    double precision, whatever the model computes in
struct Perplexity final {
  std::vector<double> sums = std::vector<double>(2);  // of the negative logarithms, valid

  template <class Output, std::integral Label>
  void add(const MetricBatch<Output, Label>& batch) {
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target, double weight) {
      double largest = double(row[0]), sum = 0;
      for (const Output logit : row) largest = (std::max)(largest, double(logit));
      for (const Output logit : row) sum += std::exp(double(logit) - largest);
      trainers::add_weighted(sums[0], weight, std::log(sum) + largest - double(row[target]));
      sums[1] += weight;
    });
  }
  static std::string name() { return "perplexity"; }
  double value() const { return std::exp(mean_of(sums[0], sums[1])); }
};

/// The number of valid rows for each actual and each predicted class: count(actual, predicted). A row with a NaN has no
/// predicted class.
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
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target, double weight) {
      const std::size_t predicted = detail::largest_of(row);
      if (predicted < classes) sums[target * classes + predicted] += weight;
    });
  }
  double count(std::size_t actual, std::size_t predicted) const { return sums.at(actual * classes + predicted); }
};

/// For each class: precision, the share of the rows predicted as this class that belong to it; recall, the share of the
/// class's rows that are predicted as it; f1, their harmonic mean. NaN for a class without such rows; the means are
/// over the other classes. A row with a NaN has no predicted class.
struct PrecisionRecall final {
  std::vector<double> sums;  // of each class: right, taken for it, of it

  void begin(std::size_t columns) { sums.assign(3 * columns, 0); }
  template <class Output, std::integral Label>
  void add(const MetricBatch<Output, Label>& batch) {
    detail::for_each_valid(batch, [&](std::span<const Output> row, std::size_t target, double weight) {
      const std::size_t predicted = detail::largest_of(row);
      if (predicted == target) sums[3 * target] += weight;
      if (predicted < row.size()) sums[3 * predicted + 1] += weight;
      sums[3 * target + 2] += weight;
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
  std::vector<MetricValue> values() const {
    return {{"precision", mean_precision()}, {"recall", mean_recall()}, {"f1", mean_f1()}};
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

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
