// regimen/data/timing.hpp — how long the stages of a dataset or a source have worked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace regimen::data {

/// How long a stage has worked: only its own work, without the stages before it, summed over all threads.
struct Timing final {
  std::string stage;         // its name; of a reader, its file
  std::uint64_t values = 0;  // that it has made
  double seconds = 0;        // estimated: the first 64 values are timed, then each eighth
};

/// Appends how long each stage has worked, the reader first. Nothing for sources without stages.
template <class D>
void add_timings(const D& dataset, std::vector<Timing>& all) {
  if constexpr (requires { dataset.timings(all); }) dataset.timings(all);
}

/// How long each stage has worked, the reader first. Stages that only choose values are not listed. Empty for sources
/// without stages.
template <class D>
std::vector<Timing> timings(const D& dataset) {
  std::vector<Timing> all;
  add_timings(dataset, all);
  return all;
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
