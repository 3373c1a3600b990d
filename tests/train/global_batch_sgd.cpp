// Ranks train what one rank trains on the global batch: descent with momentum.
#include "train/global_batch.hpp"

#include <regimen/optimizer/sgd.hpp>

using namespace regimen;
using namespace regimen::test;

TEST_CASE("twenty steps of two and four ranks are those of one rank on the global batch, but for rounding") {
  equals_one_rank<Sgd>({.learning_rate = 0.03, .momentum = 0.9, .weight_decay = 0.01});
}
// SPDX-License-Identifier: Apache-2.0
