// regimen/train/check_labels.hpp — labels outside the classes, named before the loss makes NaN of them.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace regimen::train {

/// failure   Error naming step, sample (the first of these is `first`) and label
template <class Target>
void check_labels(std::span<const Target> targets, std::size_t per_sample, std::size_t classes, std::uint64_t step, std::size_t first) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Target label = targets[i];
    if (label == Target(ignore_index) || (label >= 0 && static_cast<std::size_t>(label) < classes)) continue;
    const std::string row = per_sample > 1 ? ", row " + std::to_string(i % per_sample) : std::string();
    throw Error("step " + std::to_string(step) + ", label of sample " + std::to_string(first + i / per_sample) + row,
                "one of " + std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1) + ", or ignore_index", std::to_string(label),
                "mend the data, or give the last layer as many outputs as there are classes");
  }
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
