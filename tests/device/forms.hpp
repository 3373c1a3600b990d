// tests/device/forms.hpp — a network trains on Device<Cuda>, in a form of its operations, what it trains on the CPU.
#pragma once

#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "../support/rounding.hpp"
#include "attempt.hpp"

#include <algorithm>
#include <cstdio>
#include <type_traits>
#include <vector>

namespace regimen::test {

template <class Network, class... Policies>
std::vector<double> losses() {
  Trainer<Network, Policies...> trainer;
  std::vector<double> all;
  trainer.fit(Fake({.samples = 64, .classes = 7, .seed = 2}), {.steps = 8, .progress = false},
              [&](auto&, const StepResult& result) { all.push_back(result.loss); });
  return all;
}

/// Every loss, beside those of the CPU in fp64 (support/rounding.hpp), and once more; a JSON object.
///   Form   a policy: Attention<...>, Convolution<...>
template <class Network, class Size, class Form, class Format>
bool agrees(const char* what) {
  return attempt(what, [&] {
    const std::vector<double> exact = losses<Network, Size, Precision<fp64>>(),
                              there = losses<Network, Size, Format, Form, Device<Cuda>>(),
                              again = losses<Network, Size, Format, Form, Device<Cuda>>();
    const double found = support::distance(exact, there),
                 may = std::is_same_v<Format, Precision<fp64>>
                           ? support::of_order
                           : support::as_far_as(support::distance(exact, losses<Network, Size, Format>()));
    std::printf("{\"trains\":\"%s\",\"distance\":%.3g,\"may\":%.3g,\"repeats\":%s}\n", what, (std::min)(found, 1e300),
                may, there == again ? "true" : "false");
    std::fflush(stdout);
    return found < may && there == again;
  });
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
