// regimen/rule/plan_range.hpp — checks what a program asks a plan at run time.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/rule/model_rules.hpp>

#include <cstddef>
#include <string>

namespace regimen::rule {

/// Throws Error for a batch without samples, and for one, or a number of ranks, whose bytes would overflow: what the
/// compiler refuses in a recipe (the rules batch_at_least_one, bytes_can_be_counted). No launcher starts 2^20 ranks.
template <class Network, class Configuration>
void check_plan(const char* who, std::size_t batch, std::size_t ranks = 1) {
  constexpr std::size_t most_ranks = std::size_t{1} << 20;
  if (batch == 0) throw Error(std::string(who) + ", batch", "at least 1 sample", "0");
  if (!shapes_of<Network, Configuration>::can_count(double(batch)))
    throw Error(std::string(who) + ", batch", "samples whose bytes can be counted", std::to_string(batch) + " samples",
                "plan a smaller batch");
  if (ranks == 0 || ranks > most_ranks)
    throw Error(std::string(who) + ", ranks", "1 to " + std::to_string(most_ranks), std::to_string(ranks));
}

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
