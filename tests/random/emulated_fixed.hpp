// tests/random/emulated_fixed.hpp — four of the seeds that every run of the suite checks on the emulated device.
#pragma once

#include "random/emulated.hpp"
#include "support/catch.hpp"

namespace regimen::random {

template <std::uint64_t Seed>
void hold_on_the_device() {
  const std::string wrong = check_emulated<Seed>();
  INFO(wrong);
  CHECK(wrong.empty());
}

}  // namespace regimen::random

#define REGIMEN_RANDOM_EMULATED(first)                                                                        \
  TEST_CASE("a random program on the device, seed " #first) { regimen::random::hold_on_the_device<first>(); } \
  TEST_CASE("a random program on the device, seed " #first " + 1") {                                          \
    regimen::random::hold_on_the_device<first + 1>();                                                         \
  }                                                                                                           \
  TEST_CASE("a random program on the device, seed " #first " + 2") {                                          \
    regimen::random::hold_on_the_device<first + 2>();                                                         \
  }                                                                                                           \
  TEST_CASE("a random program on the device, seed " #first " + 3") { regimen::random::hold_on_the_device<first + 3>(); }
// SPDX-License-Identifier: Apache-2.0
