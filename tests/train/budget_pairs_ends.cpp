// The least budget of some models, and what runs take under one.
#include "train/budget_pairs.hpp"

using namespace regimen;
using namespace regimen::test;

// One byte less than the least peak is refused, with that peak.
static_assert(ends_at_least<3> && ends_at_least<4> && ends_at_least<13> && ends_at_least<22>);

TEST_CASE("a run takes what the plan of its pair says") {
  run_takes<13>(5);
  run_takes<20>(4);
}
// SPDX-License-Identifier: Apache-2.0
