// regimen/watch/find_rate.ipp — the curve of a sweep.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/watch/find_rate.hpp>

#include <string>

namespace regimen {

REGIMEN_INLINE std::vector<double> RateSweep::smoothed(double share) const {
  std::vector<double> found;
  double mean = 0, weight = 0;
  for (const double loss : losses) {
    if (is_finite(loss)) {
      mean = share * mean + (1 - share) * loss;
      weight = share * weight + (1 - share);
    }
    found.push_back(is_finite(loss) ? mean / weight : loss);
  }
  return found;
}
REGIMEN_INLINE double RateSweep::steepest() const {
  const std::vector<double> of = smoothed();
  double best = no_value, least = 0;
  for (std::size_t i = 1; i + 1 < of.size(); ++i) {
    const double slope = of[i + 1] - of[i - 1];  // the logarithms are equally far apart
    if (is_finite(slope) && slope < least) {
      least = slope;
      best = rates[i];
    }
  }
  return best;
}
REGIMEN_INLINE void trainers::expect_sweep(const RateOptions& options, bool has_schedules) {
  if (!(options.from > 0 && is_finite(options.to) && options.to > options.from))
    throw Error("find_rate", "0 < from < to",
                regimen::detail::digits_of(options.from) + " and " + regimen::detail::digits_of(options.to));
  if (has_schedules)
    throw Error("find_rate", "groups that follow the Trainer's schedule", "a group with a schedule of its own",
                "leave out .optimizer.schedules while you look for the rate");
  if (options.steps < 2) throw Error("find_rate, steps", "at least 2", std::to_string(options.steps));
  if (!(options.stop > 1)) throw Error("find_rate, stop", "more than 1", regimen::detail::digits_of(options.stop));
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
