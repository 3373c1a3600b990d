// regimen/engine/cuda/preparations.hpp — what a library prepares once and runs many times.
#pragma once

#include <deque>
#include <utility>

namespace regimen::cuda {

/// Products, attentions or convolutions, by their descriptors. References stay valid.
template <class Descriptor, class Made>
class Preparations final {
 public:
  template <class Make>
  const Made& found_or_made(const Descriptor& descriptor, const Make& make) {
    for (const auto& [known, made] : all_)
      if (known == descriptor) return made;
    all_.emplace_back(descriptor, make());
    return all_.back().second;
  }

 private:
  std::deque<std::pair<Descriptor, Made>> all_;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
