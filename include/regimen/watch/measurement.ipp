// regimen/watch/measurement.ipp — sums of ranks, and names of metrics.
#pragma once

#include <regimen/comm/teams.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/watch/measurement.hpp>

#include <iterator>

namespace regimen::trainers {

REGIMEN_INLINE void expect_names(std::vector<std::string> names) {
  constexpr const char* reserved[] = {"event",   "step",          "epoch",         "loss",       "targets", "samples",
                                      "seconds", "learning_rate", "gradient_norm", "loss_scale", "applied", "step_ms"};
  for (const std::string& name : names)
    if (std::find(std::begin(reserved), std::end(reserved), name) != std::end(reserved))
      throw Error("Trainer::fit, metric " + name, "a name that History and TensorBoard have no number of", name,
                  "give it another name");
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw Error("Trainer::fit, metric " + *twice, "a name of its own for each metric", "two of this name",
                "give one of them another name()");
}
REGIMEN_INLINE void add_ranks(comm::Control& ranks, std::vector<double>& sums) {
  std::vector<double> all(sums.size() * ranks.size());
  ranks.all_gather(reinterpret_cast<const std::byte*>(sums.data()), reinterpret_cast<std::byte*>(all.data()),
                   sums.size() * sizeof(double), comm::Teams{});
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % sums.size()] += all[i];
}
REGIMEN_INLINE void add_weighted(double& sum, double weight, double value) { sum += weight * value; }

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
