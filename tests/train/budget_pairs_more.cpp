// Pairs of a model and a budget: ten models.
#include "train/budget_pairs.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("what a budget promises, for 110 pairs of other models") {
  const Tried tried = hold<12, 13, 14, 15, 16, 19, 20, 21, 22, 23>();
  CHECK(tried.drawn == 110);
  CHECK(tried.recompute > tried.drawn / 2);
  CHECK(tried.first > tried.drawn / 2);
}
// SPDX-License-Identifier: Apache-2.0
