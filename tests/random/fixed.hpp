// tests/random/fixed.hpp — four of the seeds that every run of the suite checks; tests/random.sh checks as many as one
// likes.
#pragma once

#include "random/seed.hpp"
#include "support/catch.hpp"

namespace regimen::random {

/// A seed that fails is printed, and then, which takes minutes, a smaller program that still does.
template <std::uint64_t Seed>
void hold() {
  const std::string wrong = check_seed<Seed>();
  if (!wrong.empty()) {
    const std::string here = __FILE__, root = here.substr(0, here.rfind("/tests/random/"));
    const ::test::Directory folder;
    const std::string command =
        "\"" + root + "/tests/random.sh\" --shrink " + std::to_string(Seed) + " --out \"" + (folder / "") + "\" >&2";
    std::fprintf(stderr, "%s%s\n", wrong.c_str(), command.c_str());
    if (std::system(command.c_str()) == 0) std::fprintf(stderr, "compiled apart, it holds\n");
  }
  INFO(wrong);
  CHECK(wrong.empty());
}

}  // namespace regimen::random

#define REGIMEN_RANDOM_SEEDS(first)                                                          \
  TEST_CASE("a random program, seed " #first) { regimen::random::hold<first>(); }            \
  TEST_CASE("a random program, seed " #first " + 1") { regimen::random::hold<first + 1>(); } \
  TEST_CASE("a random program, seed " #first " + 2") { regimen::random::hold<first + 2>(); } \
  TEST_CASE("a random program, seed " #first " + 3") { regimen::random::hold<first + 3>(); }
// SPDX-License-Identifier: Apache-2.0
