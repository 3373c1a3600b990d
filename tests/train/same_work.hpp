// tests/train/same_work.hpp — data for two Trainers that are to do the same work, and how far their numbers lie apart.
#pragma once

#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "train/odd_models.hpp"

namespace regimen::test {

template <class Train>
struct Work {
  std::vector<typename Train::Input> inputs;
  std::vector<typename Train::Label> targets;
  explicit Work(std::size_t samples) : inputs(samples * Train::input_size), targets(samples * Train::target_size) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = static_cast<typename Train::Input>(Philox::draw(1, i, 0).word[0] % 11);
    for (std::size_t i = 0; i < targets.size(); ++i)
      targets[i] = static_cast<typename Train::Label>((i * 3 + i / 7) % Train::Step::Output::columns);
  }
  std::span<const typename Train::Input> input(std::size_t first, std::size_t count) const {
    return {inputs.data() + first * Train::input_size, count * Train::input_size};
  }
  std::span<const typename Train::Label> target(std::size_t first, std::size_t count) const {
    return {targets.data() + first * Train::target_size, count * Train::target_size};
  }
};

/// All values, tensor after tensor.
template <class Named>
std::vector<double> flat(const std::vector<Named>& tensors) {
  std::vector<double> all;
  for (const Named& tensor : tensors)
    for (const auto value : tensor.values) all.push_back(double(value));
  return all;
}

/// The largest difference, relative to the largest value of a; infinite where a value is not finite.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(a[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return largest == 0 ? worst : worst / largest;
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
