// Ranks train what one rank trains on the global batch: AdamW.
#include "train/global_batch.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("twenty steps of AdamW on two and four ranks are those of one rank on the global batch, but for rounding") {
  // The key's bias has an exact gradient of 0, as softmax does not see it: what is left is rounding, and Adam would
  // divide that by itself, but for an epsilon above it.
  equals_one_rank<AdamW>({.learning_rate = 0.01, .epsilon = 1e-4});
}
// SPDX-License-Identifier: Apache-2.0
