// What rank 0 of two ranks on threads finds.
#pragma once

#include <regimen/comm/launch.hpp>

#include <utility>

namespace support {

/// numbers(trainer) of a Trainer on each of two ranks; that of rank 0.
template <class Train>
auto on_two(auto&& numbers) {
  decltype(numbers(std::declval<Train&>())) found;
  regimen::launch(2, [&](regimen::comm::Threads& ranks) {
    Train trainer(ranks);
    auto own = numbers(trainer);
    if (ranks.rank() == 0) found = std::move(own);
  });
  return found;
}

}  // namespace support
// SPDX-License-Identifier: Apache-2.0
