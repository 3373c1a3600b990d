// tests/random/fixed.hpp — four of the seeds that every run of the suite checks; tests/random.sh checks as many as one likes.
#pragma once

#include "random/seed.hpp"
#include "support/catch.hpp"

namespace regimen::random {

template <std::uint64_t Seed>
void hold() {
  const std::string wrong = check_seed<Seed>();
  INFO(wrong << "  a smaller program that still fails: tests/random.sh --shrink " << Seed);
  CHECK(wrong.empty());
}

}  // namespace regimen::random

#define REGIMEN_RANDOM_SEEDS(first)                                                          \
  TEST_CASE("a random program, seed " #first) { regimen::random::hold<first>(); }            \
  TEST_CASE("a random program, seed " #first " + 1") { regimen::random::hold<first + 1>(); } \
  TEST_CASE("a random program, seed " #first " + 2") { regimen::random::hold<first + 2>(); } \
  TEST_CASE("a random program, seed " #first " + 3") { regimen::random::hold<first + 3>(); }
// SPDX-License-Identifier: Apache-2.0
