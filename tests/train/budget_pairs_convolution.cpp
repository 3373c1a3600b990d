// Pairs of a model and a budget: convolutions and batch norms.
#include "train/budget_pairs.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("what a budget promises, for 22 pairs of models of convolutions") {
  const Tried tried = hold<5, 17>();
  CHECK(tried.drawn == 22);
  CHECK(tried.recompute > tried.drawn / 2);
  CHECK(tried.first > tried.drawn / 2);
}
// SPDX-License-Identifier: Apache-2.0
