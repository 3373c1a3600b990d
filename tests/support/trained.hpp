// tests/support/trained.hpp — what a Trainer is after some steps, in memory that was poisoned, no more of it than was planned.
#pragma once

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace support {

/// All weights after so many steps, and the last loss: runs that compute the same have the same bits here.
std::vector<double> trained(auto& trainer, const auto& source, std::uint64_t steps) {
  trainer.poison_dead_memory();
  const double loss = trainer.fit(source, {.steps = steps, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  std::vector<double> all = weights_of<double>(trainer);
  all.push_back(loss);
  return all;
}

/// The same, with the names of all parameters.
struct NamedResult {
  std::vector<double> numbers;
  std::vector<std::string> names;
  bool operator==(const NamedResult&) const = default;
};
NamedResult trained_with_names(auto& trainer, const auto& source, std::uint64_t steps) {
  NamedResult all{trained(trainer, source, steps), {}};
  for (const auto& parameter : trainer.parameters()) all.names.push_back(parameter.name);
  return all;
}

}  // namespace support
// SPDX-License-Identifier: Apache-2.0
