// Pairs of a model and a budget: twelve models; twelve others are in budget_pairs_more.cpp.
#include "train/budget_pairs.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("what a budget promises, for 132 pairs") {
  const Tried tried = hold<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11>();
  CHECK(tried.drawn == 132);
  CHECK(tried.recompute > tried.drawn / 2);
}
// SPDX-License-Identifier: Apache-2.0
