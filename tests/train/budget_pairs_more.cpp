// Pairs of a model and a budget: twelve models.
#include "train/budget_pairs.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("what a budget promises, for 132 pairs of other models") {
  const Tried tried = hold<12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23>();
  CHECK(tried.drawn == 132);
  CHECK(tried.recompute > tried.drawn / 2);
}
// SPDX-License-Identifier: Apache-2.0
