// tests/data/balance.hpp — how equally the ranks share what counts.
#pragma once

#include <regimen/data/loader.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace test {

using namespace regimen;

/// What the ranks are given in an epoch, step by step. A step takes as long as the rank with the most to do.
///
///   fill        valid targets among all places for one
///   imbalance   mean over the steps of (valid targets of the rank with the most) / (mean over the ranks); 1: equal
///               shares
///   worst       the same of the worst step
struct Balance final {
  double fill = 1, imbalance = 1, worst = 1;
  std::uint64_t steps = 0;
  std::vector<std::size_t> targets;  // of each rank

  /// For people.
  std::string table() const {
    char line[160];
    std::snprintf(line, sizeof line,
                  "%llu steps, %.1f %% of the places hold a target; most / mean of the ranks: %.3f, at worst %.3f\n",
                  static_cast<unsigned long long>(steps), 100 * fill, imbalance, worst);
    std::string text = line;
    for (std::size_t rank = 0; rank < targets.size(); ++rank)
      text += "  rank " + std::to_string(rank) + ": " + std::to_string(targets[rank]) + " targets\n";
    return text;
  }
};

/// Reads one epoch as the loaders of all ranks would: rank, epochs, first and workers of the options are ignored.
/// cost   that of reading all samples
template <class In, class Target, class S>
  requires Source<S, In, Target>
Balance balance_of(const S& source, const SampleShape& shape, LoaderOptions options) {
  options.rank = 0;
  options.first = {};
  options.epochs = 1;
  options.workers = 0;
  const std::size_t ranks = options.ranks, share = options.batch * shape.target;
  if (ranks == 0 ||
      __builtin_mul_overflow(options.batch, ranks, &options.batch))  // of all ranks at once, in their order
    throw Error("balance_of", "a batch of one rank or more that can be counted", std::to_string(ranks) + " ranks");
  options.ranks = 1;
  Loader<In, Target, S> loader(source, shape, options);
  Balance balance;
  balance.targets.resize(ranks);
  double places = 0, valid = 0, sum = 0;
  for (auto batch = loader.next(); batch; batch = loader.next()) {
    std::vector<std::size_t> own(ranks);
    for (std::size_t i = 0; i < batch.target.size(); ++i)
      own[i / share] += !std::is_integral_v<Target> || batch.target[i] != static_cast<Target>(ignore_index);
    double most = 0, all = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      balance.targets[rank] += own[rank];
      all += static_cast<double>(own[rank]);
      most = static_cast<double>(own[rank]) > most ? static_cast<double>(own[rank]) : most;
    }
    places += static_cast<double>(batch.target.size());
    valid += all;
    const double factor = all > 0 ? most * static_cast<double>(ranks) / all : 1;
    sum += factor;
    if (factor > balance.worst) balance.worst = factor;
    ++balance.steps;
  }
  balance.fill = valid / places;
  balance.imbalance = sum / static_cast<double>(balance.steps);
  return balance;
}

}  // namespace test
// SPDX-License-Identifier: Apache-2.0
