// bench/ranks.hpp — what the benchmarks of several ranks share: a network, tokens for it, and how runs are put
// together.
#pragma once

#include "../examples/program.hpp"

#include <regimen/comm/launch.hpp>
#include <regimen/regimen.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {
using namespace regimen;

/// The network of lessons 1 and 6: 867,328 parameters.
using RanksBlock = Sequential<Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,
                              Residual<LayerNorm, Linear<512>, GeluTanh, Linear<128>>>;
struct RanksGpt : Model<Input<Tokens<64>>, Embedding<Vocabulary<256>, 128>, PositionEmbedding, Repeat<4, RanksBlock>,
                        LayerNorm, Linear<256>> {};

/// Symbols that another key draws otherwise; what they are does not matter to the time.
inline std::vector<std::int32_t> symbols(std::size_t count, std::uint64_t key) {
  std::vector<std::int32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int32_t>(Philox::mix(key, i) % 256);
  return values;
}

/// Steps on the same tokens, which are this rank's; each takes as long as the slowest rank.   milliseconds of the
/// `steps` after `warmup`
template <class Train>
std::vector<double> milliseconds_of_steps(Train& trainer, std::size_t warmup, std::size_t steps,
                                          const auto& after_warmup) {
  const auto inputs = symbols(Train::batch * Train::input_size, 2 * trainer.rank());
  const auto targets = symbols(Train::batch * Train::target_size, 2 * trainer.rank() + 1);
  std::vector<double> found;
  for (std::size_t i = 0; i < warmup + steps; ++i) {
    if (i == warmup) after_warmup();
    const double took = trainer.step(inputs, targets).milliseconds;
    if (i >= warmup) found.push_back(took);
  }
  return found;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.empty() ? 0 : values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
